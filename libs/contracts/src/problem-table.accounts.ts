export interface ProblemKind {
  readonly status: number;
  /** The same for every occurrence (RFC 9457, section 3.1.3). */
  readonly title: string;
  readonly meaning: string;
  /** What the caller can do. */
  readonly remedy: string;
}

/** Those about users, and how they log in. */
export const accountProblems = {
  'user-not-found': {
    status: 404,
    title: 'No such user',
    meaning: 'There is no user with this name.',
    remedy: 'Check the spelling. The user may have been renamed or deleted.',
  },
  'username-taken': {
    status: 409,
    title: 'Username taken',
    meaning: 'Another user has this name. Names are not case-sensitive.',
    remedy: 'Choose another name.',
  },
  'user-id-taken': {
    status: 409,
    title: 'User id taken',
    meaning: 'Another user has this id.',
    remedy: 'Omit the id to have one assigned.',
  },
  'user-has-open-orders': {
    status: 409,
    title: 'User has open orders',
    meaning: 'The user has placed or approved orders; the member orders lists the first 100.',
    remedy: 'Cancel them, transfer them to another user, or wait until they are delivered.',
  },
  'last-admin': {
    status: 409,
    title: 'Last admin',
    meaning: 'This is the only user with the role admin, and the shop needs one.',
    remedy: 'Give another user the role admin (PUT /v3/user/{username}/role), then repeat the request.',
  },
  'login-failed': {
    status: 401,
    title: 'Login failed',
    meaning: 'The username or password is wrong.',
    remedy: 'Check both. After too many failed logins, the name is locked for a while.',
  },
  'too-many-logins': {
    status: 429,
    title: 'Too many failed logins',
    meaning: 'Too many logins failed for this name or from this address.',
    remedy: 'Wait for the number of seconds in Retry-After.',
  },
  'too-many-mails': {
    status: 429,
    title: 'Too many mails',
    meaning: 'So many mails were asked for this account or address, or from this network, that no more are sent for a while.',
    remedy: 'Look for the mails that were sent, also among unwanted mail. Otherwise wait for the number of seconds in Retry-After.',
  },
  'email-not-mailable': {
    status: 409,
    title: 'No address to send mail to',
    meaning: 'The user has no e-mail address, or one that mail cannot be sent to.',
    remedy: 'Set the e-mail address of the user (PATCH /v3/user/{username}) to one such as ada@example.com.',
  },
  'api-key-not-found': {
    status: 404,
    title: 'No such API key',
    meaning: 'The user has no API key with this id.',
    remedy: 'Look the id up in the list of API keys. The key may have been revoked.',
  },
  'too-many-api-keys': {
    status: 409,
    title: 'Too many API keys',
    meaning: 'The user has the maximum number of active API keys, or the key is already being replaced.',
    remedy: 'Revoke an API key first.',
  },
  'factor-not-found': {
    status: 404,
    title: 'No such second factor',
    meaning: 'The user has no second factor with this id.',
    remedy: 'Look the id up in the list of second factors. It may have been removed.',
  },
  'session-not-found': {
    status: 404,
    title: 'No such session',
    meaning: 'The user has no open session with this id.',
    remedy: 'Look the id up in the list of sessions. The session may have ended.',
  },
  'oauth-client-not-found': {
    status: 404,
    title: 'No such OAuth client',
    meaning: 'There is no OAuth client with this id.',
    remedy: 'Look the id up in the list of clients.',
  },
  'oauth-client-public': {
    status: 409,
    title: 'OAuth client is public',
    meaning: 'A public OAuth client has no secret to replace.',
    remedy: 'If the client needs a secret, delete it and register a confidential one.',
  },
  'too-many-oauth-clients': {
    status: 409,
    title: 'Too many OAuth clients',
    meaning: 'The maximum number of OAuth clients is registered.',
    remedy: 'Delete an OAuth client first.',
  },
} satisfies Record<string, ProblemKind>;
