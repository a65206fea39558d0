import { constants } from 'node:zlib';

// Lists and documents are compressed. For single plants and orders, compressing costs more than it saves.

export const compressFromBytes = 1_024;

/** The library's default quality, 11, costs more time than the smaller response saves. */
export const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };
