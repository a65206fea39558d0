import { Image } from '@mantine/core';
import { IconLeaf } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import classes from './plant-picture.module.css';

/** The first picture of a plant that the page may show, or a leaf. */
export function PlantPicture({ photoUrls, isSmall = false }: { readonly photoUrls: readonly string[]; readonly isSmall?: boolean }): ReactNode {
  const picture = photoUrls.map(ownImage).find((one) => one !== undefined);
  const look = { className: classes['picture'] ?? '', 'data-small': isSmall || undefined };
  return picture === undefined ? <span {...look} aria-hidden><IconLeaf size={isSmall ? 16 : 18} /></span> : <Image src={picture} alt="" loading="lazy" {...look} />;
}

/**
 * Returns the address of an image that the page may show: only the shop's own, because of the Content-Security-Policy.
 * Images elsewhere are linked instead.
 */
export function ownImage(address: string): string | undefined {
  const url = URL.parse(address, location.origin);
  return url?.origin === location.origin && url.pathname.startsWith('/v3/images/') ? url.pathname : undefined;
}

/** Whether a link to the address is safe: no `javascript:`. */
export const webAddress = (address: string): string | undefined => {
  const url = URL.parse(address);
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined;
};
