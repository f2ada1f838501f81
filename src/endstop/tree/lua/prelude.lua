-- Runs the text of a tree file once and gives back one JSON text: the nodes that it made, its trees, and what went
-- wrong. All that is here of Python is a clock, which scripts cannot reach; nothing but that text leaves.
--
-- A hook looks at steps, time and memory every few instructions. The text is compiled in small pieces with the same
-- hook between them. The limit on what a script holds for itself is small for a reason: whole numbers can be chosen so
-- that they all fall into one place of a table, and then one instruction takes time with the square of its size.
local text, seconds_of_thread = ...

local CHUNK = "tree"
local STEPS_PER_LOOK = 10
local BYTES_PER_PIECE = 1024
local LEVELS_LOOKED_AT = 12

local clock, collect, error, getinfo, huge = os.clock, collectgarbage, error, debug.getinfo, math.huge
local load, pcall, sethook, setmetatable, sub, type = load, pcall, debug.sethook, setmetatable, string.sub, type

local seen = { line = nil, kept_kb = 0 } -- the last line that ran, and what is kept for the script
local stopped -- why the script was stopped, if it was

-- The line of the script's function that is nearest: ours are compiled without lines.
local function line_of_script()
    for level = 2, LEVELS_LOOKED_AT do
        local info = getinfo(level, "l")
        if not info then
            break
        elseif info.currentline > 0 then
            return info.currentline
        end
    end
    return seen.line
end

-- Nothing in a script can catch this.
local function stop(why)
    stopped = stopped or { line = line_of_script(), why = why }
    error(stopped, 0)
end

local steps = 0
local began = seconds_of_thread()
local deadline = clock() + limits.seconds -- by the clock of the whole process, which is cheap and never behind
local most_kb = huge

-- Called for new lines, too, and looks at everything then as well: the instructions of a hook are counted like any
-- others, and in some loops the count would run out inside the hook each time, where it is not called.
local function look(_, line)
    if stopped then
        return -- the script is being left already
    end
    seen.line = line or seen.line
    steps = steps + STEPS_PER_LOOK
    if steps > limits.steps then
        stop("too_many_steps")
    elseif clock() > deadline then
        local left = limits.seconds - (seconds_of_thread() - began)
        if left <= 0 then
            stop("too_long")
        end
        deadline = clock() + left -- it was the work of other threads
    elseif collect("count") - seen.kept_kb > most_kb then
        collect()
        if collect("count") - seen.kept_kb > most_kb then
            stop("too_much_memory")
        end
    end
end

-- ``BT.kind(…)`` as ``work(line, …)``. Our own work is bounded by the other limits, and goes without the hook, which
-- looks once when it is done. In ``return BT.kind(…)`` the function has taken the place of its caller: then the line
-- of the call is the last one that ran.
local function called(work)
    return function(...)
        sethook()
        local below = getinfo(2, "l").currentline
        local returns_to = below > 0 and below or nil
        local line = getinfo(1, "t").istailcall and seen.line or returns_to or seen.line
        local handle = work(line, ...)
        look(nil, returns_to)
        sethook(look, "l", STEPS_PER_LOOK)
        return handle
    end
end

local BT, problem, note, result = recorder(seen, called, stop)
local environment = functions()
environment.BT = BT
setmetatable(environment, {
    __index = function(_, name)
        problem(line_of_script(), "unknown_global", type(name) == "string" and name or type(name))
        return nil
    end,
})

-- Even a hole in the environment would find the house empty.
for _, library in pairs({ string, table, math, os, io, debug, coroutine, utf8, python, package.loaded, package, _G }) do
    for name in next, library do
        library[name] = nil
    end
end

local function compiled()
    local source, position = text, 1
    text = nil
    return load(function()
        local piece = sub(source, position, position + BYTES_PER_PIECE - 1)
        position = position + BYTES_PER_PIECE
        return piece
    end, "=" .. CHUNK, "t", environment)
end

local function compiled_and_run()
    local script, reason = compiled()
    if not script then
        return "syntax", reason
    end
    collect()
    most_kb = collect("count") + limits.scratch_kb
    script()
end

-- The hook may speak up at any step until it is gone: so this is called in protected mode as well.
local function run()
    sethook(look, "l", STEPS_PER_LOOK)
    local is_over, what, reason = pcall(compiled_and_run)
    sethook()
    return is_over and what or not is_over and "error", is_over and reason or what
end

local function note_failure(what, thrown)
    if stopped then
        note(stopped.line, stopped.why, "", "")
    elseif thrown == "not enough memory" then
        note(seen.line, "too_much_memory", "", "")
    elseif type(thrown) == "string" then
        note(seen.line, what, "", thrown)
    else
        note(seen.line, "odd_error", "", type(thrown))
    end
end

local is_over, what, reason = pcall(run)
sethook()
if stopped or not is_over or what then
    note_failure(what, reason)
end
return result()
