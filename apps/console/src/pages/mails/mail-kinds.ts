import type { components } from '@plant-shop/client';

export type Mail = components['schemas']['Mail'];

/** What each kind of mail is about. */
export const mailKinds: Readonly<Record<Mail['kind'], string>> = {
  'verify-address': 'Verify the address',
  recovery: 'Forgotten password',
  'new-sign-in': 'New sign-in',
  'password-changed': 'Password changed',
  'address-changed': 'Address changed',
  'key-added': 'API key added',
  'role-changed': 'Role changed',
  'factor-added': 'Second factor added',
  'factor-removed': 'Second factor removed',
  'passkey-locked': 'Passkey locked',
  'recovery-code-used': 'Recovery code used',
  'order-placed': 'Order placed',
  'order-paid': 'Order paid',
  'order-shipped': 'Order shipped',
  'order-cancelled': 'Order cancelled',
  'refund-due': 'Refund due',
};

export const mailStates: readonly Mail['state'][] = ['pending', 'held', 'sent', 'failed'];
