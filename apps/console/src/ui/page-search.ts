import { createContext } from 'react';

/** The search of a page's address, also of a page that is kept while another is shown. */
export const PageSearch = createContext<Readonly<Record<string, unknown>>>({});
