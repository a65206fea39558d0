/** How long a replaced secret stays valid, in seconds. */
export const graceChoices = [
  { value: '0', label: 'at once' },
  { value: '3600', label: 'in an hour' },
  { value: '86400', label: 'in a day' },
  { value: '604800', label: 'in a week' },
  { value: '2592000', label: 'in 30 days' },
];

export const defaultGrace = '86400';
