import { useQueryClient } from '@tanstack/react-query';
import { CatchBoundary, deepEqual, Outlet, useMatches, useRouter } from '@tanstack/react-router';
import { Activity, type ReactNode, Suspense, useLayoutEffect, useRef, useState } from 'react';
import { Loading } from '../ui/loading.js';
import { PageSearch } from '../ui/page-search.js';
import { PageError } from './page-error.js';
import { showFirst } from './queries.js';

interface KeptPage {
  /** Of its route. */
  readonly id: string;
  /** That it was shown with last. */
  readonly search: object;
  readonly element: ReactNode;
}

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    /** The page stays drawn while another is open. It reads its search by `PageSearch`. */
    readonly isKept?: boolean;
  }
}

/**
 * The page that is open. One that is kept stays drawn when it is left, without effects, and is shown again at once: drawing it takes several
 * times as long.
 */
export function KeptPages(): ReactNode {
  const { routesById } = useRouter();
  const open = useMatches({ select: (matches) => matches.at(-1) });
  const [kept, setKept] = useState<readonly KeptPage[]>([]);
  const isKept = open?.staticData.isKept === true && open.status === 'success';
  const known = kept.find(({ id }) => id === open?.routeId);
  if (isKept && !(known && deepEqual(known.search, open.search))) {
    const Page = routesById[open.routeId].options.component ?? Outlet;
    const page = { id: open.routeId, search: open.search, element: <PageSearch value={{ ...open.search }}><Page /></PageSearch> };
    setKept(known ? kept.map((one) => (one === known ? page : one)) : [...kept, page]);
  }
  const openId = open?.routeId;
  const client = useQueryClient();
  /** Where the focus was last in each page. */
  const places = useRef(new Map<string | undefined, HTMLElement>());
  useLayoutEffect(() => showFirst(client), [openId, client]);
  useLayoutEffect(() => {
    const { activeElement } = document;
    // Who comes by a link stays there. Otherwise it was in the page that is left.
    if (!activeElement?.checkVisibility() || activeElement.matches('body, main')) places.current.get(openId)?.focus({ preventScroll: true });
  }, [openId]);
  useLayoutEffect(() => () => {
    // Its dialog would open again, perhaps with a secret.
    if (document.querySelector('[role=dialog]')) setKept((pages) => pages.filter(({ id }) => id !== openId));
  }, [openId]);
  return (
    <>
      {kept.map(({ id, element }) => (
        <Activity key={id} mode={id === openId ? 'visible' : 'hidden'}>
          <div style={{ display: 'contents' }} onFocus={({ target }) => places.current.set(id, target)}>
            <CatchBoundary getResetKey={() => open} errorComponent={PageError}><Suspense fallback={<Loading />}>{element}</Suspense></CatchBoundary>
          </div>
        </Activity>
      ))}
      {!isKept && <PageSearch value={{ ...open?.search }}><Outlet /></PageSearch>}
    </>
  );
}
