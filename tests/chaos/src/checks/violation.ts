/** One violation of a guarantee. */
export interface Violation {
  readonly rule: Rule;
  readonly what: string;
}

export type Rule =
  | 'answers'
  | 'acknowledged'
  | 'unavailable-did-nothing'
  | 'once-per-key'
  | 'register'
  | 'unasked'
  | 'expiry'
  | 'payments'
  | 'refusals'
  | 'baskets'
  | 'deadlocks'
  | 'stock'
  | 'owners'
  | 'own-writes'
  | 'revoked'
  | 'audit'
  | 'timeline'
  | 'log'
  | 'receivers'
  | 'sockets'
  | 'mails'
  | 'destinations'
  | 'settled'
  | 'work';
