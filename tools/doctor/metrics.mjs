const LIMIT_MS = 5_000;

/** Reads a service's metrics from its operations port, in Prometheus' text format. @param {string} url */
export async function metricsOf(url) {
  const response = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(LIMIT_MS) });
  return response.text();
}

/** @param {string} metrics @returns {{ name: string, labels: string, value: number }[]} */
export function samples(metrics) {
  return [...metrics.matchAll(/^([a-z_]+)(\{.*\})? (\S+)$/gm)].map(([, name = '', labels = '', value]) => ({ name, labels, value: Number(value) }));
}
