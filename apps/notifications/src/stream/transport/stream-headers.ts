import { responseHeaders } from '@plant-shop/platform/http/security-headers';
import type { NotificationsOptions } from '../../options.js';

/** Returns the default headers of every response of the stream that has a body. */
export const streamHeaders = ({ stream }: NotificationsOptions): Readonly<Record<string, string>> => responseHeaders(stream.publicUrl, 'no-store');
