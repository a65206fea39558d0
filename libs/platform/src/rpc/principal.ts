/** The account on whose behalf a call is made. The gateway derives it from credentials; services do not pass it on. */
export interface Principal {
  /** The account's id (a UUID). It is never reused after the account is deleted. */
  readonly subject: string;
  readonly permissions: readonly string[];
  /** The kinds of this account's credentials that the client presented. Some rules require a personal one in addition to permissions. */
  readonly shown: readonly string[];
  /** Absent if the client presented only credentials of this account. */
  readonly otherCredentials?: readonly OtherCredential[];
}

/** A valid credential of another account that the client presented too. It permits nothing; the audit log names it. */
export interface OtherCredential {
  readonly kind: string;
  readonly id: string;
  readonly subject: string;
}
