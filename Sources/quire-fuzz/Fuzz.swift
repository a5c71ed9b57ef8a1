// libFuzzer's side: its main function, called by ours, and what it calls.

#if FUZZER
  import ArgumentParser
  import Foundation

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #elseif canImport(Android)
    import Android
  #endif

  /// Looks for new inputs until it is told to stop, or finds something.
  struct Fuzz: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "fuzz", abstract: "Makes inputs of a target that run code which none has run before.",
      discussion: "What stands behind the target goes to libFuzzer: folders of inputs, and options such as -runs=1000.")

    @Argument(help: "meta, log, file, row, dictionary or index.")
    var target: FuzzTarget
    @Argument(parsing: .captureForPassthrough, help: "For libFuzzer.")
    var arguments: [String] = []

    private static let variable = "QUIRE_FUZZ_TARGET"
    /// What is fuzzed.
    static var current: FuzzTarget? { getenv(variable).flatMap { FuzzTarget(rawValue: String(cString: $0)) } }

    /// Whether the environment names a target.
    static var isInherited: Bool { current != nil }

    func run() throws {
      setenv(Self.variable, target.rawValue, 1)
      Self.drive([CommandLine.arguments[0], "-timeout=25", "-rss_limit_mb=2048", "-malloc_limit_mb=256"] + arguments)
    }

    /// Hands everything over to libFuzzer.
    static func drive(_ arguments: [String]) -> Never {
      var count = Int32(arguments.count)
      var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
      let status = pointers.withUnsafeMutableBufferPointer { pointers in
        var base = pointers.baseAddress
        return runDriver(&count, &base, { data, count in runInput(data, count) })
      }
      end(status)
    }
  }

  /// Ends the process; inside of a command, `exit` is another function.
  private func end(_ status: Int32) -> Never { exit(status) }

  @_silgen_name("LLVMFuzzerRunDriver")
  private func runDriver(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ run: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
  ) -> Int32

  @_silgen_name("LLVMFuzzerMutate")
  private func mutateAnywhere(_ data: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int) -> Int

  /// Runs an input; a finding ends the process as a trap does.
  private func runInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    guard let target = Fuzz.current else { preconditionFailure("QUIRE_FUZZ_TARGET names no target") }
    do { try target.run(Array(UnsafeBufferPointer(start: data, count: count))) } catch {
      preconditionFailure("\(target.rawValue): \(error)")
    }
    return 0
  }

  /// What libFuzzer calls instead of its own mutations.
  @_cdecl("LLVMFuzzerCustomMutator")
  func customMutation(_ data: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int, _ seed: UInt32) -> Int {
    guard let target = Fuzz.current else { return count }
    var mutation = Mutation(seed: UInt64(seed), limit: limit) { bytes, limit in
      var room = bytes + [UInt8](repeating: 0, count: max(0, limit - bytes.count))
      let made = room.withUnsafeMutableBufferPointer { buffer in
        buffer.baseAddress.map { mutateAnywhere($0, min(bytes.count, limit), limit) } ?? 0
      }
      return Array(room.prefix(made))
    }
    let made = target.mutate(Array(UnsafeBufferPointer(start: data, count: count)), &mutation).prefix(limit)
    _ = UnsafeMutableBufferPointer(start: data, count: limit).update(fromContentsOf: made)
    return made.count
  }

  /// Called by programs whose main function is libFuzzer's.
  @_cdecl("LLVMFuzzerTestOneInput")
  func testOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 { runInput(data, count) }
#endif
