import type { Shop } from '@plant-shop/client';
import { type ReactElement, useEffect, useState } from 'react';
import { useBasket } from './basket.js';
import { Catalogue } from './catalogue.js';
import { Checkout } from './checkout.js';
import { beginLogin, logOut } from './login.js';
import { Orders } from './orders.js';
import { messageOf } from './shop.js';

export function App({ shop, loginError }: { readonly shop: Shop | undefined; readonly loginError: unknown }): ReactElement {
  const basket = useBasket();
  return (
    <>
      <header>
        <h1>Plants</h1>
        {shop ? <User shop={shop} /> : <button onClick={() => void beginLogin()}>Log in</button>}
      </header>
      {loginError !== undefined && <p role="alert">{messageOf(loginError)}</p>}
      <main>
        <Catalogue onAdd={basket.add} />
        <div>
          <Checkout shop={shop} basket={basket} />
          {shop && <Orders shop={shop} />}
        </div>
      </main>
    </>
  );
}

function User({ shop }: { readonly shop: Shop }): ReactElement {
  const [name, setName] = useState('');
  useEffect(() => {
    shop.GET('/user/me').then(({ data }) => setName(data.username), (error: unknown) => setName(messageOf(error)));
  }, [shop]);
  return (
    <div className="row">
      <span>{name}</span>
      <button onClick={logOut}>Log out</button>
    </div>
  );
}
