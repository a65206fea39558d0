/** Where a database is, and whose word for its certificate counts. */
export interface DatabaseAddress {
  readonly url: string;
  /** File with certificates of authorities (PEM). Absent or empty: as the address itself says (`sslmode`). */
  readonly ca?: string;
}

/** The settings of a service that say where its database is. */
export interface DatabaseConfig {
  readonly databaseUrl: string;
  readonly databaseCa: string;
}

/**
 * The address as the driver takes it. With authorities of its own it talks to nobody but a server that has a certificate of
 * theirs for its host, whatever else the address says. The driver reads the file at each connection: authorities are renewed
 * while we run, and those of CloudNativePG every three months.
 */
export function addressOf({ url, ca }: DatabaseAddress): string {
  if (!ca) return url;
  const address = new URL(url);
  for (const name of ['ssl', 'uselibpqcompat']) address.searchParams.delete(name);
  address.searchParams.set('sslmode', 'verify-full');
  address.searchParams.set('sslrootcert', ca);
  return address.href;
}
