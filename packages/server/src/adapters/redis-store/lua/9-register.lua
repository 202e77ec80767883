local READ, ADD, END = { 'no-writes' }, {}, { 'allow-oom' }

-- Registers a function. Each but `ms_open` has the prefix as its first key, and those that write have the generation of the caller's
-- connection as the second one: they write only on the server, and to the state of the store, that the caller knows.
local function register(name, callback, flags)
  redis.register_function({
    function_name = name,
    callback = function(keys, args)
      if call == nil then
        call, sub, byte, char, unpack_bytes = redis.call, string.sub, string.byte, string.char, struct.unpack
      end
      local is_guarded = flags ~= READ and name ~= 'ms_open'
      if is_guarded and keys[2] ~= present_generation(keys[1]) then return OTHER_GENERATION end
      return callback(keys, args)
    end,
    flags = flags,
  })
end

register('ms_rights', rights, READ)
register('ms_open', open, END)
register('ms_take_over', take_over, END)
register('ms_release', release, END)
register('ms_kinds', kinds, ADD)
register('ms_submit', submit, ADD)
register('ms_commit', commit, END)
register('ms_rows', rows, READ)
register('ms_poll', poll, READ)
register('ms_command', command, END)
register('ms_pool', pool, ADD)
register('ms_audit', audit, END)
register('ms_settle_place', settle_place, END)
register('ms_change_over', change_over, ADD)
register('ms_keep_handlers', keep_handlers, ADD)
register('ms_logs', logs, ADD)
register('ms_retire', retire, END)
register('ms_forget_keys', forget_keys, END)
register('ms_drop_bodies', drop_bodies, END)
register('ms_renew', renew, END)
register('ms_leases', leases, READ)
register('ms_drain', drain, END)
