import { Anchor, type AnchorProps } from '@mantine/core';
import { createLink } from '@tanstack/react-router';
import type { AnchorHTMLAttributes, MouseEvent, ReactNode } from 'react';

const UnderlinedAnchor = (props: AnchorProps & Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof AnchorProps>): ReactNode => <Anchor underline="always" {...props} />;

/** A link to another page of the console. */
export const AnchorLink = createLink(UnderlinedAnchor);

/**
 * Follows a link back to a list: who came from there gets to the same place of it as by the browser's "Back". Otherwise, or where the browser does not
 * tell, the link opens the list from its beginning.
 */
export function goBack(event: MouseEvent<HTMLAnchorElement>): void {
  const { navigation } = window as Partial<Window>;
  const at = navigation?.currentEntry?.index ?? 0;
  const pathOf = ({ url }: NavigationHistoryEntry): string => URL.parse(url ?? '')?.pathname ?? '';
  // A filter of this page is no other page.
  const before = navigation?.entries().slice(0, at).findLast((one) => pathOf(one) !== location.pathname);
  if (!before || pathOf(before) !== event.currentTarget.pathname || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  history.go(before.index - at);
}
