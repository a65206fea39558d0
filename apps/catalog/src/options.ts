import type { ServiceConfig } from '@plant-shop/platform/service/service';
import type { CatalogConfig } from './config.js';

/** What the catalog's parts need of its settings, in their own terms. */
export interface CatalogOptions {
  /** Address of the API as clients know it, without a slash at its end. */
  readonly publicUrl: string;
}

export const CATALOG_OPTIONS = Symbol('catalog options');

export const toOptions = ({ publicUrl }: Omit<CatalogConfig, keyof ServiceConfig>): CatalogOptions => ({ publicUrl });
