/** What the gateway tells the page about the shop. */
export interface Settings {
  /** Where people log in. */
  readonly publicUrl: string;
  /** Client id of the console; empty where none is set. */
  readonly oauthClient: string;
  /** Empty: the stream has the same address as the API. */
  readonly streamUrl: string;
}

export async function readSettings(): Promise<Settings> {
  const response = await fetch(`${import.meta.env.BASE_URL}settings.json`);
  if (!response.ok) throw new Error(`The shop answered ${response.status} to the console's first question.`);
  return (await response.json()) as Settings;
}
