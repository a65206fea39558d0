/** The list's filters, kept in the URL. The page ignores states and kinds that it does not know: the first load need not have their names. */
export interface MailsSearch {
  readonly state?: string;
  readonly kind?: string;
  /** Username of the addressee. */
  readonly to?: string;
}

export const mailsSearch = ({ state, kind, to }: Record<string, unknown>): MailsSearch => ({
  ...(isText(state) && { state }),
  ...(isText(kind) && { kind }),
  ...(isText(to) && { to }),
});

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
