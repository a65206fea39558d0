import { ShopProblem } from '@plant-shop/client';

/** Whether there is no such thing, or no longer. */
export const isGone = (error: unknown): boolean => error instanceof ShopProblem && error.status === 404;

/** Deletes what somebody else may have deleted a moment ago: then it is as it was wanted. */
export async function evenIfGone<Deleted>(deleting: Promise<Deleted>): Promise<Deleted | undefined> {
  try {
    return await deleting;
  } catch (error) {
    if (!isGone(error)) throw error;
    return undefined;
  }
}
