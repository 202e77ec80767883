-- Webhooks and deliveries. The hash `wk` has each webhook as A (active) or D (disabled) and a text, which only Node reads; `wku` has the
-- subscriptions, `wkf` the receivers of ends by their time. A webhook has its deliveries in `wkc<id>` (what never changes) and `wks<id>` (the
-- state: P, D or F, tries, shard, next try, and the last result), their ids in `wkl<id>`, PENDING ones in `wkp<id>` by the next try, FAILED
-- ones in `wkx<id>`. `wkd` has webhooks with PENDING deliveries, `wki` all deliveries by their time.
do
  -- Webhooks and deliveries of one read, and deliveries of other shards that one webhook passes over.
  local WEBHOOKS_MAX, DUE_MAX, PASSED = 100, 500, 2000
  -- Deliveries and receivers that one call of upkeep looks at.
  local OLD_MAX = 500

  local function state_of(text)
    local code, tries, shard, rest = string.match(text, '^(%a) (%d+) (%d+) %S+ (.*)$')
    return { code = code, tries = tries, shard = shard, rest = rest }
  end

  local function state_text(code, tries, shard, next_at, rest)
    return code .. ' ' .. tries .. ' ' .. shard .. ' ' .. next_at .. ' ' .. rest
  end

  -- Takes a delivery out of the PENDING ones.
  local function unplan(p, webhook, id, shard)
    call('ZREM', p .. 'wkp' .. webhook, id .. char(tonumber(shard)))
    if call('EXISTS', p .. 'wkp' .. webhook) == 0 then call('ZREM', p .. 'wkd', webhook) end
  end

  local function plan(p, webhook, id, shard, next_at)
    call('ZADD', p .. 'wkp' .. webhook, next_at, id .. char(tonumber(shard)))
    call('ZADD', p .. 'wkd', 0, webhook)
  end

  -- Adds a delivery; a repeat changes nothing.
  local function add(p, webhook, id, shard, text, at)
    if call('HSETNX', p .. 'wkc' .. webhook, id, text) == 0 then return end
    call('HSET', p .. 'wks' .. webhook, id, state_text('P', '0', shard, at, '- - '))
    call('ZADD', p .. 'wkl' .. webhook, 0, id)
    call('ZADD', p .. 'wki', 0, id .. webhook)
    plan(p, webhook, id, shard, at)
  end

  -- Reads the deliveries of a commit from the arguments behind `at`: their number, the time in ms, and for each the ids of the execution, the
  -- delivery and the webhook, and its text. Returns the index of the last argument.
  function telling.read_deliveries(args, at, asked)
    local number = tonumber(args[at + 1])
    if number == 0 then return at + 1 end
    asked.deliveries, asked.delivered_at = {}, args[at + 2]
    for n = 1, number do
      local ids = args[at + 1 + 2 * n]
      asked.deliveries[n] =
        { execution = sub(ids, 1, 16), id = sub(ids, 17, 32), webhook = sub(ids, 33, 48), text = args[at + 2 + 2 * n] }
    end
    return at + 2 + 2 * number
  end

  -- Adds the deliveries of executions that the commit changes, or creates as skipped.
  function telling.write_deliveries(p, asked)
    if not asked.deliveries then return end
    local ended = {}
    for _, change in ipairs(asked.changes) do
      ended[sub(change.fixed, 1, 16)] = true
    end
    for _, id in ipairs(asked.missed or {}) do
      ended[id] = nil
    end
    for _, id in ipairs(asked.skipped or {}) do
      ended[id] = true
    end
    for _, one in ipairs(asked.deliveries) do
      if ended[one.execution] then add(p, one.webhook, one.id, asked.shard, one.text, asked.delivered_at) end
    end
  end

  -- Adds deliveries of subscriptions that exist. Arguments: the time in ms, and for each the ids of the webhook and the delivery, the shard and
  -- the text.
  local function add_deliveries(keys, args)
    local p = keys[1]
    for i = 2, #args, 4 do
      if call('HEXISTS', p .. 'wk', args[i]) == 1 then add(p, args[i], args[i + 1], args[i + 2], args[i + 3], args[1]) end
    end
    return 1
  end

  -- Adds the due deliveries of a webhook to its answer.
  local function read_due(p, webhook, asked, answer)
    local from, found, step = 0, 0, math.min(asked.each, 100)
    while found < asked.each and from < PASSED do
      local page = call('ZRANGE', p .. 'wkp' .. webhook, '-inf', asked.now, 'BYSCORE', 'LIMIT', from, step)
      for _, member in ipairs(page) do
        local shard = byte(member, -1) + 1
        if sub(asked.mask, shard, shard) == '1' and found < asked.each then
          local id = sub(member, 1, 16)
          append_all(answer, 'due', { id, call('HGET', p .. 'wkc' .. webhook, id), call('HGET', p .. 'wks' .. webhook, id) })
          found = found + 1
        end
      end
      if #page < step then break end
      from = from + #page
    end
    return found
  end

  -- Arguments: the time in ms, the shards as a text of 64 digits, the id of the webhook before (empty: none), the numbers of webhooks and of
  -- deliveries of each, and the ids of webhooks to leave out. Answers the webhook behind which to read on (empty: it was the last one), and
  -- for each webhook with due deliveries its id, its record and the deliveries.
  local function due_deliveries(keys, args)
    local p, limit = keys[1], math.min(tonumber(args[4]), WEBHOOKS_MAX)
    local asked, without = { now = args[1], mask = args[2], each = math.min(tonumber(args[5]), DUE_MAX) }, {}
    for i = 1, #args[6], 16 do
      without[sub(args[6], i, i + 15)] = true
    end
    local waiting = call('ZRANGE', p .. 'wkd', after(args[3]), '+', 'BYLEX', 'LIMIT', 0, limit)
    local found, last, left = {}, '', DUE_MAX
    for _, webhook in ipairs(waiting) do
      if left < asked.each then return { last, unpack(found) } end
      local record = call('HGET', p .. 'wk', webhook) or ''
      if not without[webhook] and sub(record, 1, 1) ~= 'D' then
        local answer = {}
        left = left - read_due(p, webhook, asked, answer)
        if answer.due then found[#found + 1] = { webhook, record, answer.due } end
      end
      last = webhook
    end
    return { #waiting < limit and '' or last, unpack(found) }
  end

  -- Keeps the result of a try, if the delivery is PENDING with the number of tries.
  local function settle(p, webhook, id, result)
    local known = call('HGET', p .. 'wks' .. webhook, id)
    local state = known and state_of(known)
    if not state or state.code ~= 'P' or state.tries ~= result.tries then return end
    local tries = digits(tonumber(state.tries) + 1)
    call('HSET', p .. 'wks' .. webhook, id, state_text(result.code, tries, state.shard, result.next_at, result.rest))
    if result.code == 'P' then
      plan(p, webhook, id, state.shard, result.next_at)
    else
      unplan(p, webhook, id, state.shard)
      if result.code == 'F' then call('ZADD', p .. 'wkx' .. webhook, 0, id) end
    end
  end

  -- Writes a webhook. `since` is the time of a new receiver of ends, S for a new subscription, or empty.
  local function put(p, id, tenant, record, since)
    call('HSET', p .. 'wk', id, record)
    if since == '' then return end
    call('ZADD', p .. 'wkt' .. tenant, 0, id)
    if since == 'S' then call('SADD', p .. 'wku', id) else call('ZADD', p .. 'wkf', since, id) end
  end

  -- Keeps results of tries. Arguments: the number of webhooks, for each its id, tenant, record as read and afterwards, and the time of a new
  -- one; and for each result the ids of the webhook and the delivery, the tries, the code, the next try and the rest of the state. Answers 0 if
  -- a webhook is not as read, and has written nothing then.
  local function settle_deliveries(keys, args)
    local p, last = keys[1], 1 + 5 * tonumber(args[1])
    for i = 2, last, 5 do
      if (call('HGET', p .. 'wk', args[i]) or '') ~= args[i + 2] then return 0 end
    end
    for i = 2, last, 5 do
      put(p, args[i], args[i + 1], args[i + 3], args[i + 4])
    end
    for i = last + 1, #args, 6 do
      local result = { tries = args[i + 2], code = args[i + 3], next_at = args[i + 4], rest = args[i + 5] }
      settle(p, args[i], args[i + 1], result)
    end
    return 1
  end

  -- Arguments: the id, the tenant, the record as read (empty: there is none) and afterwards, the largest number of subscriptions, and the notes.
  -- Answers 1, 0 (the webhook is not as read), or -1 (too many).
  local function put_webhook(keys, args)
    local p, id, before = keys[1], args[1], args[3]
    local notes = read_notes(args, 5)
    if is_taken(p, notes) then return TAKEN end
    if (call('HGET', p .. 'wk', id) or '') ~= before then return 0 end
    if before == '' and call('SCARD', p .. 'wku') >= tonumber(args[5]) then return -1 end
    put(p, id, args[2], args[4], before == '' and 'S' or '')
    write_notes(p, notes)
    return 1
  end

  local function forget(p, id, tenant)
    call('HDEL', p .. 'wk', id)
    call('SREM', p .. 'wku', id)
    call('ZREM', p .. 'wkf', id)
    call('ZREM', p .. 'wkt' .. tenant, id)
  end

  -- Removes a webhook with its deliveries, which Redis frees behind the call. Arguments: the id, the tenant, the record as read, and the notes.
  local function remove_webhook(keys, args)
    local p, id = keys[1], args[1]
    local notes = read_notes(args, 3)
    if is_taken(p, notes) then return TAKEN end
    if call('HGET', p .. 'wk', id) ~= args[3] then return 0 end
    forget(p, id, args[2])
    call('ZREM', p .. 'wkd', id)
    for _, letter in ipairs({ 'c', 's', 'l', 'p', 'x' }) do
      call('UNLINK', p .. 'wk' .. letter .. id)
    end
    write_notes(p, notes)
    return 1
  end

  -- Has deliveries sent again. Arguments: the webhook, the time in ms, F (only FAILED ones) or empty, the ids, and the notes. Answers the number.
  local function replay_deliveries(keys, args)
    local p, webhook, now, only, ids = keys[1], args[1], args[2], args[3], args[4]
    local notes, found = read_notes(args, 4), {}
    if is_taken(p, notes) then return TAKEN end
    for i = 1, #ids, 16 do
      local id = sub(ids, i, i + 15)
      local known = call('HGET', p .. 'wks' .. webhook, id)
      local state = known and state_of(known)
      if state and state.code ~= 'P' and (only == '' or state.code == only) then found[id] = state end
    end
    local number = 0
    for id, state in pairs(found) do
      call('HSET', p .. 'wks' .. webhook, id, state_text('P', '0', state.shard, now, state.rest))
      call('ZREM', p .. 'wkx' .. webhook, id)
      plan(p, webhook, id, state.shard, now)
      number = number + 1
    end
    if number > 0 then write_notes(p, notes) end
    return number
  end

  -- Removes deliveries whose ids are before a bound. Answers their number.
  local function retire_deliveries(keys, args)
    local p = keys[1]
    local old = call('ZRANGE', p .. 'wki', '-', '(' .. args[1], 'BYLEX', 'LIMIT', 0, OLD_MAX)
    for _, member in ipairs(old) do
      local id, webhook = sub(member, 1, 16), sub(member, 17)
      local known = call('HGET', p .. 'wks' .. webhook, id)
      if known then unplan(p, webhook, id, state_of(known).shard) end
      call('HDEL', p .. 'wkc' .. webhook, id)
      call('HDEL', p .. 'wks' .. webhook, id)
      call('ZREM', p .. 'wkl' .. webhook, id)
      call('ZREM', p .. 'wkx' .. webhook, id)
      call('ZREM', p .. 'wki', member)
    end
    return #old
  end

  -- Removes receivers of ends that are active, have no deliveries, and began before an instant. Arguments: the instant, and the number of
  -- receivers to pass over. Answers the numbers of those seen and removed.
  local function forget_receivers(keys, args)
    local p, removed = keys[1], 0
    local ids = call('ZRANGE', p .. 'wkf', '-inf', '(' .. args[1], 'BYSCORE', 'LIMIT', args[2], OLD_MAX)
    for _, id in ipairs(ids) do
      local record = call('HGET', p .. 'wk', id)
      if record and sub(record, 1, 1) == 'A' and call('EXISTS', p .. 'wkl' .. id) == 0 then
        forget(p, id, cjson.decode(sub(record, 2)).tenant)
        removed = removed + 1
      end
    end
    return { #ids, removed }
  end

  register('ms_add_deliveries', add_deliveries, ADD)
  register('ms_due_deliveries', due_deliveries, READ)
  register('ms_settle_deliveries', settle_deliveries, END)
  register('ms_put_webhook', put_webhook, ADD)
  register('ms_remove_webhook', remove_webhook, END)
  register('ms_replay_deliveries', replay_deliveries, ADD)
  register('ms_retire_deliveries', retire_deliveries, END)
  register('ms_forget_receivers', forget_receivers, END)
end
