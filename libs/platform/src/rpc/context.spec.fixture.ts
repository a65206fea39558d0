import { Deadline, RpcContext } from './context.js';

/** Returns the context of a call with this time budget. */
export const contextFor = (budgetMs = 10_000): RpcContext => new RpcContext('test', Deadline.in(budgetMs));
