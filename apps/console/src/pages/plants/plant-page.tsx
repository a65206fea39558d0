import { Grid, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useMay, useShop } from '../../auth/session.js';
import { isGone } from '../../shop/gone.js';
import { AnchorLink, goBack } from '../../ui/anchor-link.js';
import { UnlessGone } from '../../ui/dialog.js';
import { Gone } from '../../ui/empty-state.js';
import { Loading } from '../../ui/loading.js';
import { PageHeader } from '../../ui/page-header.js';
import { ProblemAlert } from '../../ui/problem-alert.js';
import { DeletePlant } from './delete-plant.js';
import { PlantEditor, TypedPlant } from './plant-editor.js';
import { leftPlants } from './plant-filter.js';
import { PlantImages } from './plant-images.js';
import { plantQuery } from './plants-queries.js';
import { StockCard } from './stock-card.js';

const route = getRouteApi('/plants/$plantId');

/** One plant: what it is, its images, its stock. */
export function PlantPage(): ReactNode {
  const plantId = Number(route.useParams().plantId);
  const mayWrite = useMay('write:plants');
  const maySetStock = useMay('write:stock');
  const plant = useQuery(plantQuery(useShop(), plantId));
  const back = <AnchorLink to="/plants" search={leftPlants.get()} onClick={goBack} size="sm">Back to the plants</AnchorLink>;
  const other = (
    <Stack>
      {back}
      <PageHeader title={plant.data?.value.name ?? `Plant ${String(plantId)}`} />
      {plant.isPending ? <Loading /> : isGone(plant.error) ? <><Gone what="Plant" /><TypedPlant plantId={plantId} /></> : <ProblemAlert error={plant.error} title="The plant could not be loaded" />}
    </Stack>
  );
  if (!plant.data) return other;
  const { value } = plant.data;
  return (
    <UnlessGone error={plant.error} gone={other}>
      {back}
      <PageHeader title={value.name} text={`Plant ${String(value.id)}${value.externalId === undefined ? '' : ` · external id ${value.externalId}`}`}>
        {mayWrite && <DeletePlant plant={plant.data} />}
      </PageHeader>
      <ProblemAlert error={plant.error} title="The plant could not be refreshed" />
      <Grid gap="md">
        <Grid.Col span={{ base: 12, lg: 7 }}>
          <PlantEditor plant={plant.data} mayWrite={mayWrite} />
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 5 }}>
          <Stack>
            {maySetStock && <StockCard plantId={plantId} name={value.name} />}
            <PlantImages plant={plant.data} mayWrite={mayWrite} />
          </Stack>
        </Grid.Col>
      </Grid>
    </UnlessGone>
  );
}
