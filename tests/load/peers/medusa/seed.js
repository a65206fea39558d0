// Run by `medusa exec`: one region, warehouse, way of shipping and public key, and plants with stock.
const { ContainerRegistrationKeys, Modules } = require('@medusajs/framework/utils');
const flows = require('@medusajs/medusa/core-flows');

module.exports.default = async function seed({ container }) {
  const { plants, scarce, units } = JSON.parse(process.env.SEED);
  const link = container.resolve(ContainerRegistrationKeys.LINK);
  const made = async (workflow, input) => (await workflow(container).run({ input })).result;

  const [channel] = await made(flows.createSalesChannelsWorkflow, { salesChannelsData: [{ name: 'Web' }] });
  const [region] = await made(flows.createRegionsWorkflow, { regions: [{ name: 'Europe', currency_code: 'eur', countries: ['de'], payment_providers: ['pp_system_default'] }] });
  await made(flows.createTaxRegionsWorkflow, [{ country_code: 'de', provider_id: 'tp_system', default_tax_rate: { name: 'Standard', code: 'standard', rate: 20 } }]);
  const [location] = await made(flows.createStockLocationsWorkflow, { locations: [{ name: 'Greenhouse', address: { city: 'Berlin', country_code: 'DE', address_1: '' } }] });
  const at = { [Modules.STOCK_LOCATION]: { stock_location_id: location.id } };
  await link.create({ ...at, [Modules.FULFILLMENT]: { fulfillment_provider_id: 'manual_manual' } });
  const [profile] = await made(flows.createShippingProfilesWorkflow, { data: [{ name: 'Plants', type: 'plants' }] });
  const zones = [{ name: 'Germany', geo_zones: [{ country_code: 'de', type: 'country' }] }];
  const set = await container.resolve(Modules.FULFILLMENT).createFulfillmentSets({ name: 'Post', type: 'shipping', service_zones: zones });
  await link.create({ ...at, [Modules.FULFILLMENT]: { fulfillment_set_id: set.id } });
  await made(flows.createShippingOptionsWorkflow, [
    {
      name: 'Standard',
      price_type: 'flat',
      provider_id: 'manual_manual',
      service_zone_id: set.service_zones[0].id,
      shipping_profile_id: profile.id,
      type: { label: 'Standard', description: 'By post', code: 'standard' },
      prices: [{ region_id: region.id, amount: 5 }],
      rules: [
        { attribute: 'enabled_in_store', value: 'true', operator: 'eq' },
        { attribute: 'is_return', value: 'false', operator: 'eq' },
      ],
    },
  ]);
  await made(flows.linkSalesChannelsToStockLocationWorkflow, { id: location.id, add: [channel.id] });
  const [key] = await made(flows.createApiKeysWorkflow, { api_keys: [{ title: 'Web', type: 'publishable', created_by: '' }] });
  await made(flows.linkSalesChannelsToApiKeyWorkflow, { id: key.id, add: [channel.id] });

  const products = Array.from({ length: plants + scarce }, (_, n) => ({
    title: `Plant ${n}`,
    handle: `plant-${n}`,
    status: 'published',
    shipping_profile_id: profile.id,
    sales_channels: [{ id: channel.id }],
    options: [{ title: 'Size', values: ['S'] }],
    variants: [{ title: 'S', sku: `SKU-${n}`, options: { Size: 'S' }, manage_inventory: true, prices: [{ amount: 10, currency_code: 'eur' }] }],
  }));
  await made(flows.createProductsWorkflow, { products });
  const { data: items } = await container.resolve(ContainerRegistrationKeys.QUERY).graph({ entity: 'inventory_item', fields: ['id', 'sku'] });
  const stockOf = ({ sku }) => (Number(sku.slice(4)) < plants ? 1_000_000 : units);
  await made(flows.createInventoryLevelsWorkflow, { inventory_levels: items.map((item) => ({ location_id: location.id, inventory_item_id: item.id, stocked_quantity: stockOf(item) })) });
};
