import { useQueryClient } from '@tanstack/react-query';
import { useCell, useShop } from '../../auth/session.js';
import { Cell } from '../../shop/cell.js';
import { watchUpload } from '../../shop/uploads.js';
import { sayDone } from '../../ui/done.js';
import { isolated } from '../../ui/numbers.js';
import { askBeforeClosing } from '../../ui/use-stay-here.js';

export interface Upload {
  readonly id: number;
  readonly plantId: number;
  readonly name: string;
  readonly bytes: number;
  /** Share of the file sent, from 0 to 1. */
  readonly part: number;
  /** A text, or the shop's error. */
  readonly error?: unknown;
}

const mostBytes = 10 * 1024 * 1024;
const uploadDeadlineMs = 120_000;

/** Those of all plants, outside the page: they go on while other pages are shown. */
const uploads = new Cell<readonly Upload[]>([]);
let last = 0;
let queue = Promise.resolve();

const change = (id: number, changed: Partial<Upload>): void => uploads.set(uploads.get().map((one) => (one.id === id ? { ...one, ...changed } : one)));
const dismiss = (id: number): void => uploads.set(uploads.get().filter((one) => one.id !== id));

/** Uploads images one after another, so that their order is that of the selection. */
export function useImageUploads(plantId: number): { uploads: readonly Upload[]; add: (files: readonly File[]) => void; dismiss: (id: number) => void } {
  const shop = useShop();
  const client = useQueryClient();

  const send = async (id: number, file: File): Promise<void> => {
    const stopAsking = askBeforeClosing();
    watchUpload(file, (part) => change(id, { part }));
    try {
      const { data } = await shop.POST('/plant/{plantId}/uploadImage', { params: { path: { plantId } }, body: { file }, deadlineMs: uploadDeadlineMs });
      if (!data.shown) {
        change(id, { error: 'The shop found no picture in this file, so the plant is shown without it. Choose a JPEG, PNG, GIF, WebP or AVIF picture.' });
        return;
      }
      dismiss(id);
      sayDone(`${isolated(file.name)} was added.`);
      void client.invalidateQueries({ queryKey: ['plants'] });
      await client.invalidateQueries({ queryKey: ['plant', plantId], exact: true });
    } catch (error) {
      change(id, { error });
    } finally {
      stopAsking();
    }
  };

  const add = (files: readonly File[]): void => {
    const added = files.map((file) => ({ file, upload: { id: ++last, plantId, name: file.name, bytes: file.size, part: 0, ...faultOf(file) } }));
    uploads.set([...uploads.get(), ...added.map(({ upload }) => upload)]);
    for (const { file, upload } of added) {
      if (upload.error === undefined) queue = queue.then(() => send(upload.id, file));
    }
  };
  return { uploads: useCell(uploads).filter((one) => one.plantId === plantId), add, dismiss };
}

/** Rejects files that the shop would refuse, or store without showing. */
function faultOf({ type, size }: File): { error?: string } {
  if (size === 0) return { error: 'This file is empty. Choose another one.' };
  if (!type.startsWith('image/')) return { error: 'This is not an image. Use JPEG, PNG, GIF, WebP or AVIF.' };
  if (size > mostBytes) return { error: 'This image is larger than 10 MiB. Make it smaller and try again.' };
  return {};
}
