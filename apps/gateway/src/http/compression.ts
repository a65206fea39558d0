import { constants } from 'node:zlib';

// Lists and documents are worth it; single plants and orders are smaller than what compressing them costs.

export const compressFromBytes = 1_024;

/** The library's default quality (11) costs more time than the network saves. */
export const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };
