/** The language of the pages, for their times and numbers too: a German month within English text would be neither. */
export const locale = 'en-GB';
