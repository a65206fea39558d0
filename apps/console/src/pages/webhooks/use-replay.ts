import type { components } from '@plant-shop/client';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery, useQueryClient, type UseQueryResult } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useShop } from '../../auth/session.js';
import { type Again, againAfter } from '../../ui/use-change.js';

export type ReplayRange = components['schemas']['ReplayRange'];

type Replay = components['schemas']['Replay'];

export interface ReplayRun {
  readonly state: 'idle' | 'scheduling' | 'stopped' | 'done';
  readonly scheduled: number;
  /** Error that ended it early. */
  readonly error: unknown;
  readonly start: (range: ReplayRange) => void;
  readonly stop: () => void;
}

interface Part {
  /** Of the whole period, as JSON. */
  readonly range: string;
  readonly body: ReplayRange;
  readonly again: Again;
  /** Events scheduled before it. */
  readonly scheduled: number;
}

/**
 * Replays a period of any length: each call schedules a part and returns where the next one starts.
 * @param onDone called when all of it is scheduled
 */
export function useReplay(webhookId: string, onDone: () => void): ReplayRun {
  const shop = useShop();
  const client = useQueryClient();
  const [run, setRun] = useState<Pick<ReplayRun, 'state' | 'scheduled' | 'error'>>({ state: 'idle', scheduled: 0, error: undefined });
  const stopping = useRef(new AbortController());
  /** The part that failed: the same period goes on with it. */
  const left = useRef<Part>(undefined);
  // Leaving the page stops it between two calls.
  useEffect(() => () => stopping.current.abort(), []);

  const follow = async (range: ReplayRange): Promise<void> => {
    const { signal } = (stopping.current = new AbortController());
    const wanted = JSON.stringify(range);
    let part: Part = left.current?.range === wanted ? left.current : { range: wanted, body: range, again: {}, scheduled: 0 };
    setRun({ state: 'scheduling', scheduled: part.scheduled, error: undefined });
    try {
      for (;;) {
        const { data }: { data: Replay } = await shop.POST('/webhooks/{webhookId}/replay', { params: { path: { webhookId } }, body: part.body, ...part.again });
        const scheduled = part.scheduled + data.scheduled;
        if (data.cursor === undefined) {
          left.current = undefined;
          setRun({ state: 'done', scheduled, error: undefined });
          onDone();
          return;
        }
        part = { range: wanted, body: nextStretch(range, data.cursor), again: {}, scheduled };
        setRun({ state: signal.aborted ? 'stopped' : 'scheduling', scheduled, error: undefined });
        if (signal.aborted) return;
      }
    } catch (error) {
      left.current = { ...part, again: againAfter(error, part.again) };
      setRun({ state: 'stopped', scheduled: part.scheduled, error });
    } finally {
      void client.invalidateQueries({ queryKey: ['webhook', webhookId] });
    }
  };
  return { ...run, start: (range) => void follow(range), stop: () => stopping.current.abort() };
}

/** How many events a replay would send. */
export interface ReplayCount {
  readonly count: number;
  /** Whether counting stopped before the end. */
  readonly isMore: boolean;
}

const typingMs = 400;
/** Answers that a count may take, each of up to 10,000 events. */
const mostAnswers = 10;

/** Counts what a replay of the range would send. Counts anew when the range has not changed for a moment. @param range undefined: counts nothing */
export function useReplayPreview(webhookId: string, range: ReplayRange | undefined): Pick<UseQueryResult<ReplayCount>, 'data' | 'error'> {
  const shop = useShop();
  const wanted = JSON.stringify(range ?? null);
  const [settled] = useDebouncedValue(wanted, typingMs);
  const { data, error } = useQuery({
    queryKey: ['webhook', webhookId, 'preview', settled],
    enabled: settled !== 'null',
    queryFn: async ({ signal }) => {
      let query = JSON.parse(settled) as ReplayRange;
      let count = 0;
      for (let answers = 0; answers < mostAnswers; answers++) {
        const { data: part }: { data: Replay } = await shop.GET('/webhooks/{webhookId}/replay', { params: { path: { webhookId }, query }, signal });
        count += part.scheduled;
        if (part.cursor === undefined) return { count, isMore: false };
        query = nextStretch(query, part.cursor);
      }
      return { count, isMore: true };
    },
  });
  return settled === wanted && settled !== 'null' ? { data, error } : { data: undefined, error: null };
}

/** A replay starts at a time or after a cursor. */
function nextStretch({ until, onlyFailed }: ReplayRange, fromCursor: string): ReplayRange {
  return { fromCursor, ...(until !== undefined && { until }), ...(onlyFailed !== undefined && { onlyFailed }) };
}
