import { IconApps, IconBookmark, IconHistory, IconKey, IconLogout, IconMoon, IconPackage, IconPlus, IconPlusMinus, IconSun, IconTrendingDown, IconUpload, IconUser } from '@tabler/icons-react';
import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import type { ReactNode } from 'react';
import { useCell, usePerson, useSession } from '../../auth/session.js';
import { CreateDestination } from '../../pages/destinations/save-destination.js';
import { CreateWebhook } from '../../pages/webhooks/create-webhook.js';
import { orderTabs, toOrderFilter } from '../../pages/orders/order-filter.js';
import { tabs } from '../../pages/orders/order-query.js';
import { NewApiKey } from '../../pages/people/new-api-key.js';
import { NewOAuthClient } from '../../pages/people/new-oauth-client.js';
import { readPlantFilter } from '../../pages/plants/plant-filter.js';
import { forgetDrafts } from '../../ui/drafts.js';
import { viewsOf } from '../../ui/views.js';
import { pages } from '../pages.js';
import { type Go, isMeant, type Offer, type OfferGroup } from './offers.js';

/** An offer, and other words by which it is found. */
type Known = Offer & { readonly words?: string; readonly isOffered: boolean };

/** The console's pages and actions that the user may use. */
export function useOwnOffers(typed: string, { go, show, onStock, onClose }: {
  readonly go: Go;
  /** Shows a dialog instead of the palette. */
  readonly show: (dialog: ReactNode) => void;
  /** Asks for the plant whose stock is to change. */
  readonly onStock: () => void;
  readonly onClose: () => void;
}): readonly OfferGroup[] {
  const session = useSession();
  const { username, permissions } = usePerson();
  const { setColorScheme } = useMantineColorScheme();
  const isDark = useComputedColorScheme('light') === 'dark';
  const offeredPages = pages.filter(({ needs }) => needs.length === 0 || needs.some((one) => permissions.has(one)));
  const has = (path: string): boolean => offeredPages.some((page) => page.path === path);
  const mayManage = permissions.has('write:users');
  const places: readonly Known[] = [
    ...offeredPages.map(({ path, label, icon }) => ({ key: path, label, icon, isOffered: true, run: () => go({ to: path }) })),
    ...orderTabs.map((tab) => ({ key: `orders ${tab}`, label: `Orders: ${tabs[tab].label.toLowerCase()}`, icon: IconPackage, isOffered: has('/orders'), run: () => go({ to: '/orders', search: { tab } }) })),
    { key: 'low stock', label: 'Plants: low on stock', words: 'out', icon: IconTrendingDown, isOffered: has('/plants'), run: () => go({ to: '/plants', search: { stock: 'low' } }) },
    { key: 'uncounted', label: 'Plants: not counted', words: 'stock units', icon: IconPlusMinus, isOffered: permissions.has('write:stock'), run: () => go({ to: '/plants', search: { stock: 'uncounted' } }) },
    { key: 'clients', label: 'OAuth clients', words: 'people applications', icon: IconApps, isOffered: mayManage, run: () => go({ to: '/people', search: { tab: 'clients' } }) },
    { key: 'audit', label: 'Audit log', words: 'people history', icon: IconHistory, isOffered: mayManage, run: () => go({ to: '/people', search: { tab: 'audit' } }) },
    { key: 'own', label: 'Your sessions and keys', words: `${username} account security`, icon: IconUser, isOffered: mayManage, run: () => go({ to: '/people/$username', params: { username } }) },
  ];
  const orderViews = useCell(viewsOf(username, 'orders', toOrderFilter).all);
  const plantViews = useCell(viewsOf(username, 'plants', readPlantFilter).all);
  const views: readonly Known[] = [
    ...orderViews.map(({ name, search }) => ({ key: `view of orders ${name}`, label: name, detail: 'Orders', icon: IconBookmark, isOffered: has('/orders'), run: () => go({ to: '/orders', search }) })),
    ...plantViews.map(({ name, search }) => ({ key: `view of plants ${name}`, label: name, detail: 'Plants', icon: IconBookmark, isOffered: has('/plants'), run: () => go({ to: '/plants', search }) })),
  ];
  const actions: readonly Known[] = [
    { key: 'new plant', label: 'New plant', words: 'add create', icon: IconPlus, isOffered: permissions.has('write:plants'), run: () => go({ to: '/plants/new' }) },
    { key: 'import', label: 'Import plants', words: 'upload csv excel file', icon: IconUpload, isOffered: permissions.has('write:plants'), run: () => go({ to: '/plants/import' }) },
    { key: 'stock', label: 'Adjust the stock of a plant …', words: 'units inventory add remove', icon: IconPlusMinus, isOffered: permissions.has('write:stock'), run: onStock },
    { key: 'new webhook', label: 'New webhook', words: 'add create endpoint', icon: IconPlus, isOffered: permissions.has('webhooks'), run: () => show(<CreateWebhook onClose={onClose} />) },
    { key: 'new destination', label: 'New destination', words: 'add create broker stream jetstream export', icon: IconPlus, isOffered: mayManage, run: () => show(<CreateDestination onClose={onClose} />) },
    { key: 'new key', label: 'New API key for yourself', words: 'add create', icon: IconKey, isOffered: mayManage, run: () => show(<NewApiKey username={username} onClose={onClose} />) },
    { key: 'new client', label: 'New OAuth client', words: 'add create register application', icon: IconPlus, isOffered: mayManage, run: () => show(<NewOAuthClient onClose={onClose} />) },
    {
      key: 'scheme',
      label: isDark ? 'Light mode' : 'Dark mode',
      words: 'colours colors scheme',
      icon: isDark ? IconSun : IconMoon,
      isOffered: true,
      run: () => {
        setColorScheme(isDark ? 'light' : 'dark');
        onClose();
      },
    },
    {
      key: 'log out',
      label: 'Log out',
      words: 'sign end session',
      icon: IconLogout,
      isOffered: true,
      run: () => {
        onClose();
        forgetDrafts();
        void session.logOut();
      },
    },
  ];
  const among = (known: readonly Known[]): readonly Offer[] => known.filter(({ label, words = '', isOffered }) => isOffered && isMeant(`${label} ${words}`, typed));
  return [{ name: 'Pages', offers: among(places) }, { name: 'Saved views', offers: among(views), isNamedByPeople: true }, { name: 'Actions', offers: among(actions) }];
}
