const EVERY_MS = 5_000;
const MIB = 1024 * 1024;

/** Peak usage of a pod of each service, as measured by the kubelets, from which requests and limits are set. */
export class Usage {
  /** By the pods' label `app.kubernetes.io/name`, or the name of their StatefulSet. @type {Map<string, { cores: number, mib: number }>} */
  #most = new Map();
  #isOver = false;
  /** @type {Promise<void> | undefined} */
  #running;
  #trouble = '';

  /** @param {(...args: string[]) => Promise<string>} kubectl @param {string} namespace */
  constructor(kubectl, namespace) {
    this.kubectl = kubectl;
    this.namespace = namespace;
  }

  start() {
    this.#running = this.#run();
    return this;
  }

  /** @returns {Promise<string>} a table */
  async report() {
    this.#isOver = true;
    await this.#running;
    const rows = [...this.#most].sort().map(([name, { cores, mib }]) => `  ${name.padEnd(20)} ${`${Math.round(cores * 1_000)}m`.padStart(6)} CPU ${`${Math.round(mib)}`.padStart(5)} MiB`);
    return ['peak usage of one pod:', ...rows, ...(this.#trouble ? [`  (not measured: ${this.#trouble})`] : [])].join('\n');
  }

  async #run() {
    const nodes = (await this.kubectl('get', 'nodes', '--output', 'jsonpath={.items[*].metadata.name}')).split(' ');
    while (!this.#isOver) {
      try {
        for (const node of nodes) this.#note(JSON.parse(await this.kubectl('get', '--raw', `/api/v1/nodes/${node}/proxy/stats/summary`)));
      } catch (error) {
        this.#trouble = String(error).split('\n')[0] ?? '';
      }
      for (let waited = 0; waited < EVERY_MS && !this.#isOver; waited += 100) await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** @param {any} summary */
  #note({ pods }) {
    for (const { podRef, cpu, memory } of pods) {
      if (podRef.namespace !== this.namespace) continue;
      // Removes the hashes from names of Deployment pods and the ordinal from those of StatefulSets.
      const name = podRef.name.replace(/(-[a-z0-9]{6,10})?-([a-z0-9]{5}|\d+)$/, '');
      const { cores, mib } = this.#most.get(name) ?? { cores: 0, mib: 0 };
      this.#most.set(name, { cores: Math.max(cores, (cpu?.usageNanoCores ?? 0) / 1e9), mib: Math.max(mib, (memory?.workingSetBytes ?? 0) / MIB) });
    }
  }
}
