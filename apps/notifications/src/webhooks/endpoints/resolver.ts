import { Resolver } from 'node:dns/promises';

const noAddress = new Set(['ENODATA', 'ENOTFOUND']);

/**
 * Resolves names by DNS only, A and AAAA together. It avoids the system's `getaddrinfo`, whose four threads serve the whole process:
 * a few names whose servers do not respond would block them all.
 */
export async function resolveByDns(hostname: string): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const found = answers.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
  if (found.length > 0) return found;
  const reasons = answers.flatMap((one) => (one.status === 'rejected' ? [one.reason as NodeJS.ErrnoException] : []));
  throw reasons.find(({ code }) => !noAddress.has(code ?? '')) ?? reasons[0] ?? new Error('no answer');
}
