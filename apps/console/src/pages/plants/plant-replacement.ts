import type { Shop } from '@plant-shop/client';
import { formOf, plantOfForm } from './plant-form-values.js';
import type { Plant } from './plant-filter.js';
import { type Versioned, versionOf } from './plants-queries.js';

type Changes = Pick<Plant, 'photoUrls'> | ReturnType<typeof plantOfForm>;

/** Changes some fields of a plant; the others stay as in version `base`. @throws ShopProblem with status 412 if `base` is outdated */
export async function replacePlant(shop: Shop, base: Versioned<Plant>, changes: Changes): Promise<Versioned<Plant>> {
  const { id, photoUrls } = base.value;
  const described = 'name' in changes ? changes : plantOfForm(formOf(base.value), base.value);
  const body = { id, ...described, photoUrls: 'photoUrls' in changes ? changes.photoUrls : photoUrls };
  return versionOf(await shop.PUT('/plant', { body, params: { header: { 'If-Match': base.etag } } }));
}
