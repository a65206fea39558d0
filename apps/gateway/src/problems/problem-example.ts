import { problemTypeUrl } from '@plant-shop/contracts/problem';
import { type ProblemCode, problemTable } from '@plant-shop/contracts/problem-table';

const details: Readonly<Partial<Record<ProblemCode, object>>> = {
  'invalid-input': { errors: [{ pointer: '/quantity', detail: 'must be a whole number from 1 to 1000000' }] },
  'insufficient-stock': { available: 3 },
  'plant-has-pending-orders': { orders: [1_000_000_007] },
  'user-has-open-orders': { orders: [1_000_000_007] },
  'order-not-payable': { payment: 'refund-due' },
  'username-taken': { errors: [{ pointer: '/username', detail: 'is taken' }] },
  'user-id-taken': { errors: [{ pointer: '/id', detail: 'is taken' }] },
  'too-many-logins': { retryAfter: 840 },
};

/** Returns an example response with this code. */
export function exampleOf(code: ProblemCode, publicUrl: string): object {
  const { status, title, meaning, remedy } = problemTable[code];
  return {
    type: problemTypeUrl(publicUrl, code),
    title,
    status,
    ...(status !== 500 && { detail: `${meaning} ${remedy}` }),
    instance: '/v3/store/order',
    code,
    requestId: '6f1ed002-ab5c-4f0e-9c3a-0d6f3ab8c1de',
    ...details[code],
  };
}
