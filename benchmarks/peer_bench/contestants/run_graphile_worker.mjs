// graphile-worker: a local queue of 500 jobs, and completions in batches.
import { POSTGRES, load, main, mark } from './contest.mjs';

const { Logger, makeWorkerUtils, run } = load('graphile-worker');
const SLOTS = 12;
const logger = new Logger(() => () => {});
const utils = () => makeWorkerUtils({ connectionString: POSTGRES, logger });

await main({
  async prepare() {
    await (await utils()).migrate();
  },
  async producer() {
    const to = await utils();
    return {
      one: (payload) => to.addJob('noop', payload),
      many: (payloads) => to.addJobs(payloads.map((payload) => ({ identifier: 'noop', payload }))),
    };
  },
  async work() {
    const worker = {
      connectionString: POSTGRES,
      concurrentJobs: SLOTS,
      maxPoolSize: SLOTS + 2,
      pollInterval: 2000,
      localQueue: { size: 500 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
      logger,
    };
    const runner = await run({ preset: { worker }, taskList: { noop: async ({ sent }) => mark(sent) } });
    await runner.promise;
  },
});
