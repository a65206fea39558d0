import { catalog } from '@plant-shop/contracts/catalog';
import { catalogAnswers } from '@plant-shop/contracts/catalog.answers';
import { apiResponse, type OperationDocs, forwarded } from './operation-docs.js';

export const plantsDocs = {
  createPlant: {
    tag: 'Plants',
    summary: 'Add a plant',
    description:
      'Refused if the id belongs to another plant; ids of deleted plants may be reused. Send an Idempotency-Key to repeat the request ' +
      'safely.',
    calls: [catalog.createPlant],
    answer: forwarded(catalogAnswers.createPlant),
  },
  replacePlant: {
    tag: 'Plants',
    summary: 'Replace all attributes of a plant',
    description: 'Clears optional attributes that are absent, except the status, which stays unchanged.',
    calls: [catalog.replacePlant],
    answer: forwarded(catalogAnswers.replacePlant),
  },
  changePlant: {
    tag: 'Plants',
    summary: 'Change name or status of a plant with a form',
    description: 'Requires at least one of them.',
    calls: [catalog.changePlant],
    answer: forwarded(catalogAnswers.changePlant),
  },
  getPlant: {
    tag: 'Plants',
    summary: 'Read a plant',
    calls: [catalog.getPlant],
    answer: forwarded(catalogAnswers.getPlant),
  },
  findPlantsByStatus: {
    tag: 'Plants',
    summary: 'Find plants by status',
    description: 'Newest first. Several statuses may be separated by commas, given as repeated parameters, or both.',
    calls: [catalog.findPlantsByStatus],
    query: ['status', 'limit', 'cursor'],
    answer: forwarded(catalogAnswers.findPlantsByStatus),
  },
  findPlantsByTags: {
    tag: 'Plants',
    summary: 'Find plants by tag',
    description:
      'Plants with any of the tag names, each once, newest first. Several names may be separated by commas, given as repeated ' +
      'parameters, or both.',
    calls: [catalog.findPlantsByTags],
    query: ['tags', 'limit', 'cursor'],
    answer: forwarded(catalogAnswers.findPlantsByTags),
  },
  searchPlants: {
    tag: 'Plants',
    summary: 'Search plants',
    description:
      'Finds plants that meet all conditions. Sorted by relevance, exact words rank before similar ones and names before other texts. ' +
      'If more than a thousand plants match, the newest thousand come first, then the next thousand. A page may be short or empty ' +
      'although the header `Link` leads to another one, since the work per page is bounded. Misspelled words are found if the ' +
      "shop's Postgres has the extension pg_trgm.",
    calls: [catalog.searchPlants],
    query: ['q', 'status', 'tags', 'category', 'sort', 'limit', 'cursor'],
    answer: forwarded(catalogAnswers.searchPlants),
  },
  getPlantFacets: {
    tag: 'Plants',
    summary: 'Count plants by status, tag and category',
    description:
      'Counts the plants that a search with the same conditions finds, per status, tag and category (at most 100 of each). At most a ' +
      'thousand plants are counted; if more match, the newest are counted and `complete` is `false`.',
    calls: [catalog.getPlantFacets],
    query: ['q', 'status', 'tags', 'category'],
    answer: forwarded(catalogAnswers.getPlantFacets),
  },
  importPlants: {
    tag: 'Plants',
    summary: 'Import plants',
    description:
      'Creates or replaces plants by id, one `ImportedPlant` per line, in a stream of any length. The response is a stream too: a result ' +
      'per line (`created`, `updated`, `unchanged`, or `refused` with a problem), then a line with totals. If the import ended early, ' +
      '`complete` is `false` in the totals and `lines` is the number of the last line that was processed; send the remaining lines, or ' +
      'all of them, again. Read the response while you send. Lines are limited to 512 KiB, and the request to the usual time limit ' +
      '(120 s by default).',
    calls: [catalog.importPlants],
    answer: {
      kind: 'lines',
      description: 'A result per line, then a line with totals',
      example: [
        { line: 1, id: 7, result: 'created' },
        { lines: 1, created: 1, updated: 0, unchanged: 0, refused: 0, complete: true },
      ],
    },
  },
  exportPlants: {
    tag: 'Plants',
    summary: 'Export all plants',
    description:
      'All plants at one point in time, in the order of their creation, one per line. An export can be imported into this or another ' +
      'shop. It does not include stock and the content of images. If the connection breaks before the end of the body, the export is ' +
      'incomplete.',
    calls: [catalog.beginExport, catalog.readExport, catalog.endExport],
    answer: {
      kind: 'lines',
      description: 'One plant per line',
      example: [{ id: 7, name: 'Monstera', photoUrls: [], tags: [{ id: 1, name: 'shade' }], status: 'available' }],
    },
  },
  deletePlant: {
    tag: 'Plants',
    summary: 'Delete a plant',
    description: 'Refused while the plant has placed or approved orders, which the problem lists. The message is the id of the plant.',
    calls: [catalog.deletePlant],
    answer: apiResponse('1000000001'),
  },
  uploadImage: {
    tag: 'Plants',
    summary: 'Upload an image of a plant',
    description:
      'Pictures (JPEG, PNG, GIF, WebP or AVIF, detected by content) are appended to `photoUrls`; other files are stored and served as ' +
      'attachments. At most 10 MiB. The message contains the metadata and the URL of the image.',
    calls: [catalog.beginImage, catalog.writeImageChunk, catalog.finishImage],
    answer: apiResponse(
      'additionalMetadata: from the greenhouse; url: https://shop.example/v3/images/0190b6a2-6c1e-7d3a-9f5b-2c4e6a8b0d1f',
    ),
  },
  getImage: {
    tag: 'Plants',
    summary: 'Read an image',
    description: 'The content at a URL never changes.',
    calls: [catalog.getImage, catalog.readImageChunk],
    answer: { kind: 'image' },
  },
} satisfies Record<string, OperationDocs>;
