/** Begins the names under which the tab keeps drafts. */
export const prefix = 'console-draft ';

/** Forgets what was typed into all forms, by every user of this tab. */
export function forgetDrafts(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(prefix)) sessionStorage.removeItem(key);
}
