/** A database's address and the CAs that its server certificate is verified with. */
export interface DatabaseAddress {
  readonly url: string;
  /** CA file (PEM). If absent or empty, `sslmode` of the URL decides. */
  readonly ca?: string;
}

/** The settings of a service's database connection. */
export interface DatabaseConfig {
  readonly databaseUrl: string;
  readonly databaseCa: string;
  readonly sandbox: boolean;
}

/**
 * Returns the connection string for the driver. With a CA file, the driver only connects to a server that presents a certificate
 * from one of these CAs for its host (`verify-full`), regardless of the TLS parameters of the URL. The driver reads the file at each
 * connection, so CAs can be renewed while the process runs (CloudNativePG renews its own every three months).
 */
export function addressOf({ url, ca }: DatabaseAddress): string {
  if (!ca) return url;
  const address = new URL(url);
  for (const name of ['ssl', 'uselibpqcompat']) address.searchParams.delete(name);
  address.searchParams.set('sslmode', 'verify-full');
  address.searchParams.set('sslrootcert', ca);
  return address.href;
}
