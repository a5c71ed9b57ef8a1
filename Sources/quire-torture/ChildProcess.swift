// Running this program once more, as a victim.

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A process that runs this program until it ends.
enum ChildProcess {
  /// Runs it with these arguments, and nothing else in its environment than `environment`.
  ///
  /// - Parameter output: the file that both its outputs go to; nil to have them returned.
  /// - Returns: what it has said, and the signal that ended it, or 0; nil if it cannot be started.
  static func run(
    _ arguments: [String], _ environment: [String], output: String? = nil
  ) -> (output: String, signal: Int32)? {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { return nil }
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
    #else
      var actions = posix_spawn_file_actions_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let output {
      posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
      posix_spawn_file_actions_adddup2(&actions, 1, 2)
    } else {
      for descriptor in Int32(1)...2 { posix_spawn_file_actions_adddup2(&actions, ends[1], descriptor) }
    }
    posix_spawn_file_actions_addclose(&actions, ends[0])
    let program = CommandLine.arguments[0]
    var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
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
    return (String(decoding: bytes, as: UTF8.self), status & 0x7f)
  }
}
