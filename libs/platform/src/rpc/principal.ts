/** On whose behalf a call is made: made by the gateway from credentials, carried unchanged from service to service. */
export interface Principal {
  /** The identifier of the acting account (a UUID); never used again after the account is gone. */
  readonly subject: string;
  readonly permissions: readonly string[];
  /** The kinds of credential that were shown. Some rules ask for one in person, whatever the permissions are. */
  readonly shown: readonly string[];
}
