import { type Config, integer, url } from '@plant-shop/platform/config';
import { serviceSettings } from '@plant-shop/platform/service/settings';

export const databaseSetting = {
  databaseUrl: url('CATALOG_DATABASE_URL', ['postgres', 'postgresql'], { description: "The catalog's own database" }),
};

export const catalogSettings = {
  ...serviceSettings,
  ...databaseSetting,
  publicUrl: url('PUBLIC_URL', ['http', 'https'], {
    description: 'Address at which clients reach the API; the URLs of images begin with it',
  }),
  maxInFlight: integer('MAX_IN_FLIGHT', {
    description: 'Calls carried out at the same time; beyond it callers are told to come back',
    default: '500',
    min: 1,
    max: 100_000,
  }),
};

export type CatalogConfig = Config<typeof catalogSettings>;
