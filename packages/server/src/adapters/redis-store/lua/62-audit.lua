-- The audit log. `ax` and `axt<tenant>` order the records by time, chain and number, `ah` has the head of each chain (its number and its
-- hash), `as` the number up to which an anchor has sealed each chain, and `aa` the anchors by number.
do
  -- Adds an anchor behind the newest one. Arguments: its number and its text, the number of its heads, for each its chain and number, and the
  -- same for each of its floors.
  local function anchor(keys, args)
    local p, last = keys[1], 3 + 2 * tonumber(args[3])
    if tonumber(args[1]) ~= call('HLEN', p .. 'aa') + 1 then return 0 end
    call('HSET', p .. 'aa', args[1], args[2])
    for i = 4, last, 2 do
      local sealed = call('HGET', p .. 'as', args[i])
      if not sealed or u32(sealed) < u32(args[i + 1]) then call('HSET', p .. 'as', args[i], args[i + 1]) end
    end
    for i = last + 1, #args, 2 do
      local sealed = call('HGET', p .. 'as', args[i])
      if sealed and u32(sealed) <= u32(args[i + 1]) then call('HDEL', p .. 'as', args[i]) end
    end
    return 1
  end

  -- Removes records. Arguments: for each its member of the order and its tenant.
  local function remove(keys, args)
    local p, members, places, by_tenant = keys[1], {}, {}, {}
    for i = 1, #args, 2 do
      members[#members + 1] = args[i]
      places[#places + 1] = sub(args[i], 7)
      append(by_tenant, p .. 'axt' .. args[i + 1], args[i])
    end
    write_lists('ZREM', by_tenant)
    parts(members, function(...)
      call('ZREM', p .. 'ax', ...)
    end)
    parts(places, function(...)
      call('HDEL', p .. 'au', ...)
    end)
    for _, place in ipairs(places) do
      local head = call('HGET', p .. 'ah', sub(place, 1, 16))
      if head and sub(head, 1, 4) == sub(place, 17) then call('HDEL', p .. 'ah', sub(place, 1, 16)) end
    end
    return #members
  end

  register('ms_anchor', anchor, END)
  register('ms_audit_remove', remove, END)
end
