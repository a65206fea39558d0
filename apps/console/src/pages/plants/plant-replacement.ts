import type { Shop } from '@plant-shop/client';
import { formOf, plantOfForm } from './plant-form-values.js';
import type { Plant } from './plant-filter.js';
import { type Versioned, versionOf } from './plants-queries.js';

type Changes = Pick<Plant, 'photoUrls'> | ReturnType<typeof plantOfForm>;

/** Changes some of a plant; the rest stays as it was in the version `base`. @throws ShopProblem with status 412 where that is not the newest */
export async function replacePlant(shop: Shop, base: Versioned<Plant>, changes: Changes): Promise<Versioned<Plant>> {
  const { id, photoUrls } = base.value;
  const described = 'name' in changes ? changes : plantOfForm(formOf(base.value), base.value);
  const body = { id, ...described, photoUrls: 'photoUrls' in changes ? changes.photoUrls : photoUrls };
  return versionOf(await shop.PUT('/plant', { body, params: { header: { 'If-Match': base.etag } } }));
}
