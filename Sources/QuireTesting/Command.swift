// Running the command-line tools that were built beside the tests.

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// What a command gave.
package struct CommandResult {
  /// The exit status; −1 if a signal ended it.
  package var status: Int32
  /// The signal that ended it, or 0.
  package var signal: Int32
  /// Both its outputs, unless they went to a file.
  package var output: String
}

/// Runs `quiredb` with both its outputs in one; nil if it is not where the tests are.
package func runQuireDB(_ arguments: [String]) -> CommandResult? {
  toolPath("quiredb").flatMap { runProgram($0, arguments) }
}

/// Runs a program until it ends; nil if it cannot be started.
///
/// - Parameters:
///   - environment: all that it has of an environment, `NAME=value` each, besides where it is to count lines.
///   - file: where both its outputs go; nil to have them returned.
///   - errors: where standard error goes alone; nil if where the other output goes.
package func runProgram(
  _ program: String, _ arguments: [String], environment: [String] = [], outputTo file: String? = nil,
  errorsTo errors: String? = nil
) -> CommandResult? {
  var ends: [Int32] = [0, 0]
  guard pipe(&ends) == 0 else { return nil }
  // Programs that are started at the same time must not inherit these: their reader would wait for them as well.
  for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
  #if canImport(Darwin)
    var actions: posix_spawn_file_actions_t?
  #else
    var actions = posix_spawn_file_actions_t()
  #endif
  posix_spawn_file_actions_init(&actions)
  defer { posix_spawn_file_actions_destroy(&actions) }
  if let file {
    posix_spawn_file_actions_addopen(&actions, 1, file, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
  } else {
    for descriptor in Int32(1)...2 { posix_spawn_file_actions_adddup2(&actions, ends[1], descriptor) }
  }
  if let errors { posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_TRUNC, 0o600) }
  posix_spawn_file_actions_addclose(&actions, ends[0])
  var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
  var variables: [UnsafeMutablePointer<CChar>?] = (environment + coverageVariables).map { strdup($0) } + [nil]
  defer { for word in words + variables { free(word) } }
  var process = pid_t()
  let failure = posix_spawn(&process, program, &actions, nil, &words, &variables)
  close(ends[1])
  defer { close(ends[0]) }
  guard failure == 0 else { return nil }
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 4096)
  while true {
    let count = read(ends[0], &chunk, chunk.count)
    if count <= 0 { break }
    bytes.append(contentsOf: chunk[..<count])
  }
  var status: Int32 = 0
  waitpid(process, &status, 0)
  // A process that was killed by a signal has the signal in the low bits.
  let signal = status & 0x7f
  return CommandResult(
    status: signal != 0 ? -1 : status >> 8 & 0xff, signal: signal, output: String(decoding: bytes, as: UTF8.self))
}

/// Where a program says which of its lines have run: beside what the tests say of themselves, if these are counted.
private var coverageVariables: [String] {
  getenv("LLVM_PROFILE_FILE").map { ["LLVM_PROFILE_FILE=\(String(cString: $0))"] } ?? []
}

/// Where the tool `name` lies: in the folder of the test bundle.
package func toolPath(_ name: String) -> String? {
  #if os(Linux)
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    guard count > 0 else { return nil }
    let executable = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard let slash = executable.lastIndex(of: "/") else { return nil }
    let program = executable[..<slash] + "/\(name)"
    return access(String(program), X_OK) == 0 ? String(program) : nil
  #else
    return nil
  #endif
}
