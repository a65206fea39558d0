/** Settings of the shop, served by the gateway. */
export interface Settings {
  /** Public address of the API and the login page. */
  readonly publicUrl: string;
  /** The console's OAuth client id; empty if none is configured. */
  readonly oauthClient: string;
  /** Address of the event stream. Empty: that of the API. */
  readonly streamUrl: string;
}

export async function readSettings(): Promise<Settings> {
  const response = await fetch(`${import.meta.env.BASE_URL}settings.json`);
  if (!response.ok) throw new Error(`The shop answered ${response.status} when the console asked for its settings.`);
  return (await response.json()) as Settings;
}
