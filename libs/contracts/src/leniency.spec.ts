import { describe, expect, it } from '@jest/globals';
import { validated } from '@plant-shop/platform/rpc/validation';
import { ChangePlant, CreatePlant, ImportedPlant } from './catalog.js';
import { CreateApiKey } from './identity.api-keys.js';
import { AddOrderNote, AdjustStock, CancelOrderByStaff, CompleteRefund, PlaceOrder, ReportPayment, ShipOrder } from './store.js';

const shipDateOf = (shipDate: string): string | undefined => validated(PlaceOrder, { order: { plantId: 1, shipDate } }).order.shipDate;
const categoryOf = (category: unknown): unknown => validated(CreatePlant, { plant: { name: 'Fern', category } }).plant.category;

describe('input of generated clients', () => {
  it.each([
    ['2026-05-01T09:30:00.000+0000', '2026-05-01T09:30:00.000+00:00'],
    ['2026-05-01T09:30:00+00', '2026-05-01T09:30:00+00:00'],
    ['2026-05-01T09:30:00.5-0730', '2026-05-01T09:30:00.5-07:30'],
  ])('may have a date-time with the offset of %s', (given, rewritten) => {
    expect(shipDateOf(given)).toBe(rewritten);
    expect(Number.isNaN(Date.parse(rewritten))).toBe(false);
  });

  it.each(['2026-05-01T09:30:00.000Z', '2026-05-01T09:30:00+02:00'])('%s is accepted unchanged', (given) => {
    expect(shipDateOf(given)).toBe(given);
  });

  it.each([
    '2026-05-01T09:30:00',
    '2026-05-01',
    '2026-05-01T09:30:00+0',
    '2026-05-01T09:30:00+000',
    '2026-05-01T09:30:00+25',
    '2026-05-01T09:30:00+0060',
    '2026-05-01+00',
    '+00',
  ])('%s is refused', (given) => expect(() => shipDateOf(given)).toThrow(expect.objectContaining({ code: 'invalid-input' })));

  const emptyCategories = [{}, { id: 0 }, { id: 0, name: '' }, { name: '' }, { id: null, name: null }, null];
  it.each(emptyCategories.map((one) => [one]))('the category %j counts as absent', (given) => {
    expect(categoryOf(given)).toBeUndefined();
  });

  it('a category with an id or a name is accepted', () => {
    expect(categoryOf({ id: 0, name: 'Ferns' })).toEqual({ id: 0, name: 'Ferns' });
    expect(categoryOf({ id: 3 })).toEqual({ id: 3 });
  });

  it.each([[{ id: 3, name: '' }], [{ id: '0' }], [[]], ['']])('the category %j is refused', (given) => {
    expect(() => categoryOf(given)).toThrow(expect.objectContaining({ code: 'invalid-input' }));
  });
});

const invisible = [' ', '\t\n', '\u00a0', '\u200b', '\u00ad', '\u2060\u200d', '\u202e\u2066\u200f', '\u3164', '\u115f\u1160', '\uffa0', '\u2800', '\u{1d159}', '\u180e', '\u0301', '\ufe0f', '\u{e0041}', '\u034f'];

describe('a name', () => {
  /** All members that are names of something. */
  const readings: readonly ((name: string) => string | undefined)[] = [
    (name) => validated(CreatePlant, { plant: { name } }).plant.name,
    (name) => validated(CreatePlant, { plant: { name: 'x', tags: [{ name }] } }).plant.tags?.[0]?.name,
    (name) => validated(CreatePlant, { plant: { name: 'x', category: { id: 1, name } } }).plant.category?.name,
    (name) => validated(ImportedPlant, { id: 1, name }).name,
    (name) => validated(ChangePlant, { plantId: 1, name }).name,
    (name) => validated(CreateApiKey, { username: 'x', apiKey: { name } }).apiKey.name,
  ];

  it.each([' Fern', 'Fern\t\r\n', '\u00a0\u3000Fern\u2003', '\ufeffFern'])('%j loses the white space around it', (given) => {
    for (const read of readings) expect(read(given)).toBe('Fern');
  });

  it.each(['ab', 'Two\nlines', '\u00ad\u200ba', '🌵', '\u0e21\u0e34', '字', "'", '\ufffd', '\u{1f9d1}\u200d\u{1f33e}', 'x'.repeat(200)])('%j is accepted', (given) => {
    for (const read of readings) expect(read(given)).toBe(given);
  });

  it.each([...invisible, '\u001b[31mred', 'a\u0007', 'a\u0085b', 'a\u009bb', 'a\u007f', `${'x'.repeat(200)}y`])('%j is refused', (given) => {
    for (const read of readings) expect(() => read(given)).toThrow(expect.objectContaining({ code: 'invalid-input' }));
  });
});

describe('a text that staff write for others, or that refers to something', () => {
  const readings: readonly ((text: string) => string | undefined)[] = [
    (text) => validated(AddOrderNote, { orderId: 1, note: { text } }).note.text,
    (reference) => validated(ReportPayment, { orderId: 1, payment: { outcome: 'succeeded', reference } }).payment.reference,
    (reference) => validated(CompleteRefund, { refundId: 1, completion: { reference } }).completion.reference,
    (carrier) => validated(ShipOrder, { orderId: 1, shipment: { carrier, trackingNumber: '1' } }).shipment.carrier,
    (trackingNumber) => validated(ShipOrder, { orderId: 1, shipment: { carrier: 'c', trackingNumber } }).shipment.trackingNumber,
    (reason) => validated(CancelOrderByStaff, { orderId: 1, cancellation: { reason, restock: true } }).cancellation.reason,
    (reason) => validated(AdjustStock, { plantId: 1, adjustment: { by: 1, reason } }).adjustment.reason,
  ];

  it.each([...invisible, ''])('%j is refused', (given) => {
    for (const read of readings) expect(() => read(given)).toThrow(expect.objectContaining({ code: 'invalid-input' }));
  });

  it.each([' two\nlines ', '\u001b[31mred'])('%j is taken as it is', (given) => {
    for (const read of readings) expect(read(given)).toBe(given);
  });
});
