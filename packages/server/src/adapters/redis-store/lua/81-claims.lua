-- Claims of servers to the store in the hash `cl`: A (a server that is alone) or S (a node of a cluster), and the instant in ms until which it lasts.
do
  -- Arguments: the server, A or S, and the time in ms for which the claim lasts. Answers an empty text, or the claim of another server that
  -- excludes this one: its letter and the server. A server that is alone excludes every other one.
  local function claim(keys, args)
    local key, server, letter = keys[1] .. 'cl', args[1], args[2]
    local now, over = math.floor(micros() / 1000), {}
    local all = call('HGETALL', key)
    for i = 1, #all, 2 do
      local held, ends = string.match(all[i + 1], '^(%a) (%d+)$')
      -- The clock may have been set back: no claim lasts longer than that of the caller.
      local lasts = tonumber(ends) > now and tonumber(ends) <= now + 2 * tonumber(args[3])
      if not lasts then
        over[#over + 1] = all[i]
      elseif all[i] ~= server and (held == 'A' or letter == 'A') then
        return held .. all[i]
      end
    end
    parts(over, function(...)
      call('HDEL', key, ...)
    end)
    call('HSET', key, server, letter .. ' ' .. digits(now + tonumber(args[3])))
    return ''
  end

  register('ms_claim', claim, END)
end
