import { searchTexts } from '../../ui/page-search.js';

/** The list's filters, kept in the URL. The page ignores states and kinds that it does not know: the first load need not have their names. */
export interface MailsSearch {
  readonly state?: string;
  readonly kind?: string;
  /** Username of the addressee. */
  readonly to?: string;
}

export const mailsSearch = (search: Record<string, unknown>): MailsSearch => searchTexts(search, 'state', 'kind', 'to');
