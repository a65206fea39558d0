import { type AccessPolicy, limitedByAddress, open } from '@plant-shop/contracts/access';

/**
 * Routes of the gateway that are no operations of the API: HTML pages and their files, and OAuth, which is described by its
 * discovery documents. Operations are declared in libs/contracts.
 */
export const undocumented = {
  getOAuth: limitedByAddress(1),
  postOAuth: limitedByAddress(1),
  // Identity stores each for half an hour, before any login. By default one address may begin 600 a minute.
  beginAuthorization: limitedByAddress(100),
  showDocs: open,
  redirectToDocs: open,
  getDocsFile: open,
  showConsole: open,
  getConsoleFile: open,
  getConsoleSettings: open,
  overview: open,
  listProblems: open,
  showProblem: open,
} as const satisfies Record<string, AccessPolicy>;

export type UndocumentedName = keyof typeof undocumented;
