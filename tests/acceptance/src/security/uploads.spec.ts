import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RawHttp } from '../raw-http.js';
import { createPlant, gatewayUrl, ok, type Plant, send } from '../shop.js';
import { type HostileFile, hostileFiles } from './hostile-files.js';

/** Types that browsers display without executing anything. */
const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp', 'image/avif'];

const tally = { tried: 0, refused: 0, attachments: 0, images: 0 };

describe('a hostile file', () => {
  const http = new RawHttp(gatewayUrl());
  let plantId: number;
  beforeAll(async () => {
    plantId = (await createPlant()).id;
  });
  afterAll(() => {
    http.close();
    process.stdout.write(`uploads: ${tally.tried} tried, ${tally.refused} refused, ${tally.attachments} served as attachments, ${tally.images} served as images, 0 served as active content\n`);
  });

  const upload = async ({ filename = 'a.png', contentType, content }: HostileFile): Promise<{ status: number; message: string }> => {
    const type = contentType === undefined ? '' : `Content-Type: ${contentType}\r\n`;
    const body = Buffer.concat([Buffer.from(`--b\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\n${type}\r\n`), content, Buffer.from('\r\n--b--\r\n')]);
    const headers = [['api_key', 'special-key'], ['content-type', 'multipart/form-data; boundary=b']] as const;
    const answer = await http.send({ method: 'POST', target: `/v3/plant/${plantId}/uploadImage`, headers, body }, 15_000);
    return { status: answer.status, message: answer.body.toString() };
  };

  it.each(hostileFiles.map((file) => [file.name, file] as const))('is refused, or served so that no browser executes it: %s', async (_, file) => {
    const before = (await ok(send<Plant>('GET', `/v3/plant/${plantId}`))).photoUrls;
    const { status, message } = await upload(file);
    const url = /url: (http[^"]+)/.exec(message)?.[1];
    tally.tried++;
    if (file.active) expect({ status, message }).toMatchObject({ status: 415, message: expect.stringContaining('image-type-refused') });
    if (url === undefined) {
      tally.refused++;
      expect([400, 415]).toContain(status);
      expect((await ok(send<Plant>('GET', `/v3/plant/${plantId}`))).photoUrls).toEqual(before);
      return;
    }
    expect(url).toMatch(new RegExp(`^${gatewayUrl()}/v3/images/[0-9a-f-]{36}$`));
    const response = await fetch(url, { headers: { accept: 'text/html' } });
    const type = response.headers.get('content-type') ?? '';
    const disposition = response.headers.get('content-disposition') ?? '';
    expect(Buffer.from(await response.arrayBuffer()).equals(file.served ?? file.content)).toBe(true);
    expect([...imageTypes, 'application/octet-stream']).toContain(type);
    // Must not be the client's file name, under which a browser would save the file.
    expect(disposition).toMatch(type === 'application/octet-stream' ? /^attachment(; filename="[\w.-]+")?$/ : /^inline$/);
    expect(Object.fromEntries(response.headers)).toMatchObject({ 'x-content-type-options': 'nosniff', 'content-security-policy': expect.stringContaining('sandbox') });
    expect(response.headers.get('x-injected') ?? response.headers.get('set-cookie') ?? response.headers.get('content-encoding')).toBeNull();
    if (type === 'application/octet-stream') tally.attachments++;
    else tally.images++;
    const after = (await ok(send<Plant>('GET', `/v3/plant/${plantId}`))).photoUrls;
    expect(after).toEqual(imageTypes.includes(type) ? [...before, url] : before);
    for (const other of [`${url}.html`, `${url}/a.html`, `${url}%00.html`, `${url};a.html`]) expect((await fetch(other)).status).toBeGreaterThanOrEqual(400);
  });
});
