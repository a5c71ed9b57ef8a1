// QuireLZ4 beside liblz4, for as many blocks as somebody asks for.

#if canImport(CLZ4) && !canImport(Musl)
  import ArgumentParser

  /// Compares until enough blocks were decoded by both, or something differs.
  struct CompareCodecs: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "codec", abstract: "Decodes drawn and changed blocks with QuireLZ4 and with liblz4.")

    @Option(help: "How many blocks are decoded by both.")
    var blocks = 1_000_000
    @Option(help: "What is drawn: the same seed draws the same blocks.")
    var seed: UInt64 = 1

    func run() throws {
      var comparison = CodecComparison(seed: seed)
      while comparison.blockCount < blocks {
        do { try comparison.step() } catch {
          print("seed \(seed), block \(comparison.blockCount): \(error)")
          throw ExitCode.failure
        }
      }
      print(comparison.summary)
    }
  }
#endif
