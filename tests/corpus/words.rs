//! The English and technical vocabulary of the synthetic corpus, in rough order of frequency.

/// Common words. The position in the list is the Zipf rank.
pub(crate) const COMMON: &str = "\
the to of and a in is it for that this with on be as not are if we from by you or an at can have \
so when file but use all will test code now which no only do has should there one was its line new \
error then need these i would add name data value they more first because into also set return any \
run still after each change out let up how type same before make already two path see what where \
instead without time current build list fix check does get like read work both other call key used \
using than about state result config their between function update default table write output here \
could was even while through issue case server just user object over option module version missing \
method page load being request model field change project tests main message cache index string \
start node could next input query correct them layer log most response tool class failing import \
directory section existing every service folder local process since format command handler single \
might change below within might under number branch body header step empty point better good few \
right problem source target simple much too per via own way actual second last needs keep another \
parent child parse works commit event schema database migration component client store values rest \
match map array support event remove given exactly look token link item following entry thing fails \
size stays root again during length done small full count expected really keeps once global review \
different summary clean instance package exists private public actually means check route either \
behaviour reason part open why plan whole longer document until update details create several third \
change limit written order base otherwise provide session note external timeout script warning \
always never found place back long across pattern three based shared pass view passes changed high \
low made internal ready against failed content block close around static early original access \
clear later follow left real write-up stream text layout logic level thread signal stable sure ask \
large valid invalid unused wrong explicit implicit docs doc safe explain seems exact short often \
possible relevant context hook queue worker job task background pipeline deploy release staging \
production environment variable secret feature flag gate guard retry backoff lock mutex buffer chunk \
batch window offset cursor range span segment shard replica leader primary backup snapshot restore \
rollback transaction isolation conflict merge rebase diff patch hunk review approve comment thread \
reply mention label badge button form dialog modal sidebar panel toolbar menu tab grid column row \
cell border margin padding colour theme dark light contrast font icon image asset bundle chunk \
minify compile linker binary library crate dependency lockfile registry publish semver upgrade \
downgrade deprecated removed breaking compatibility legacy modern browser mobile desktop platform \
native driver kernel memory heap stack leak garbage collector pointer reference borrow lifetime \
generic trait interface abstract inherit override virtual dispatch closure lambda callback promise \
future await async sync blocking channel sender receiver socket port host address network proxy \
gateway router balancer firewall certificate handshake encryption cipher hash digest signature \
nonce salt password credential login logout cookie header bearer scope role permission policy \
tenant account profile avatar email phone invoice payment refund charge subscription price currency \
discount coupon order basket checkout shipping warehouse inventory stock supplier catalogue product \
review rating search filter sort facet suggestion ranking relevance score weight tokenizer analyzer \
stemming synonym document corpus passage snippet highlight excerpt cluster vector embedding distance \
similarity nearest neighbour graph edge vertex tree leaf branch depth breadth traversal visitor \
parser lexer grammar syntax semantic compiler optimizer inliner register instruction opcode \
bytecode interpreter runtime sandbox container image volume mount network namespace cgroup quota \
scheduler cron timer interval deadline latency throughput percentile histogram counter gauge metric \
trace span alert incident outage postmortem runbook escalation oncall dashboard panel chart axis \
legend tooltip series sample rate frequency amplitude phase noise filter codec frame packet bitrate \
resolution pixel shader texture mesh vertex camera scene sprite animation easing transition keyframe \
gesture pointer keyboard focus selection clipboard undo redo history revision draft publish archive \
attachment upload download progress resume checksum integrity verify audit compliance retention \
anonymise consent region locale translation plural timezone calendar date duration epoch clock drift \
precision rounding decimal integer float double boolean nullable optional required unique foreign \
constraint trigger view procedure function cursor explain analyze vacuum partition tablespace \
connection pool session statement prepared parameter binding injection escape sanitize validate \
normalize canonical encode decode serialize deserialize marshal compress inflate archive zip tarball \
stdin stdout stderr pipe redirect shell prompt alias profile completion history terminal colour \
cursor escape sequence width wrap truncate ellipsis align indent whitespace newline tab quote brace \
bracket parenthesis comma colon semicolon operator operand expression assignment condition branch \
loop iterator generator collection sequence tuple record struct enum variant union alias constant \
literal macro attribute decorator annotation metadata comment docstring example tutorial guide \
reference changelog readme licence contributor maintainer reviewer author owner team member guest \
visitor admin operator customer vendor partner agency office department manager engineer designer \
analyst researcher student teacher lesson course exercise answer question quiz grade certificate \
ticket backlog sprint milestone roadmap deadline estimate scope risk blocker decision tradeoff \
proposal draft outline agenda meeting minutes action follow-up reminder notification inbox digest \
newsletter campaign segment audience conversion funnel bounce click impression keyword landing \
article headline paragraph caption footnote citation bibliography chapter appendix glossary volume \
issue edition publisher printer paper ink cover spine margin bleed crop trim proof layout template \
placeholder variable loop include partial slot fragment portal provider consumer reducer selector \
dispatcher middleware saga effect observer subject subscription emitter listener bubble capture \
propagate prevent debounce throttle memo suspend hydrate render mount unmount rerender virtual list \
scroll sticky overflow viewport breakpoint responsive flex gap stretch center baseline absolute \
relative fixed hidden visible opacity shadow gradient radius outline transform rotate scale skew \
sensor device firmware bootloader battery voltage current resistor motor encoder controller joint \
robot arm gripper trajectory planner obstacle lidar odometry pose quaternion matrix determinant \
eigenvalue gradient descent momentum optimizer loss epoch dropout attention transformer tokeniser \
prompt completion temperature sampling beam checkpoint finetune dataset shuffle augment label \
annotation bounding precision recall accuracy baseline ablation experiment hypothesis significance \
variance median quantile outlier regression correlation forecast season trend residual kernel \
bandwidth density prior posterior likelihood inference chain sampler bootstrap permutation estimator \
weather station rainfall humidity pressure wind forecast satellite orbit antenna ground telemetry \
beacon transponder altitude heading runway flight airport gate boarding luggage passenger seat crew \
train platform carriage track signal junction timetable delay ferry harbour cargo container crane \
truck route depot driver dispatch parcel courier address doorstep locker recipient bridge tunnel \
survey contour elevation terrain polygon raster tile projection datum coordinate geofence waypoint \
recipe ingredient oven portion calorie protein vitamin menu kitchen waiter reservation table bill \
hospital clinic patient nurse doctor dosage prescription allergy symptom diagnosis specimen lab \
assay reagent protein genome sequence variant allele chromosome sample freezer barcode centrifuge \
library shelf loan reader catalogue archive museum exhibit curator gallery painting sculpture \
concert ticket venue stage microphone speaker mixer track tempo chord melody rhythm playlist album \
football league fixture referee goal season coach player transfer stadium score tennis court match \
garden seed soil compost harvest greenhouse irrigation pump valve pipe tank reservoir meter tariff \
energy grid turbine panel inverter battery charger socket consumption peak demand carbon emission \
bank branch teller deposit withdrawal balance ledger journal debit credit accrual reconcile audit \
loan interest mortgage collateral default premium claim policy broker exchange bid ask spread trade \
portfolio hedge option expiry strike margin settlement custody dividend yield bond coupon maturity \
court judge jury verdict appeal statute clause contract breach penalty witness testimony evidence \
school campus lecture semester thesis faculty dean scholarship enrolment transcript alumni mentor \
morning evening yesterday tomorrow week month quarter year minute hour moment later soon recently \
eventually slowly quickly carefully roughly mostly partly nearly barely hardly simply clearly \
apparently probably certainly perhaps maybe however therefore meanwhile otherwise besides moreover \
although unless whether despite towards beyond beneath above inside outside behind beside among \
against along upon per versus except including regarding according due thanks sorry please welcome";

/// Rare but real words, for phrases planted as facts.
pub(crate) const RARE: &str = "\
lantern walnut copper thimble saffron orchard marble kestrel tundra velvet anchor juniper pebble \
hammock violin meadow cobalt trellis falcon granite lagoon mitten nutmeg obelisk parsley quarry \
rhubarb satchel teapot umbrella viaduct wicker yonder zephyr almond basalt cinnamon dormouse ember \
ferret gondola heather iguana jasmine kiln lichen mallow nectar otter paprika quince raven sorrel \
thistle urchin vellum willow yarrow amber bramble cedar dahlia elder fennel ginger hazel indigo \
jackdaw kelp lilac magpie nettle osprey plover quill rowan sedge turnip vetch wren acorn badger";

/// Regular verbs that keep their stem before a suffix.
pub(crate) const VERBS: &str = "\
check update handle parse load return create remove call store validate resolve render \
fetch cache reject accept merge rename replace restore collect compare compute convert count \
delete describe detect encode ensure escape expand export expose filter flatten follow group ignore \
import index inspect invoke join limit listen lock log match measure migrate mock move normalise \
open order parse pass persist poll print process produce publish queue raise record reduce refactor \
refresh register release reload repeat report request require resize retry reuse review \
round sample save scale schedule seed select serialise share skip sort start store subscribe \
support suspend synchronise tag test toggle touch trace track transform traverse truncate \
unwrap upload validate verify visit warn watch wrap yield";

/// Adjectives that fit technical nouns.
pub(crate) const ADJECTIVES: &str = "\
stale missing empty duplicate invalid slow nested shared local remote partial final initial pending \
unused broken optional global internal external temporary concurrent recursive explicit implicit \
lazy eager cached dirty fresh large small single multiple legacy modern atomic ordered unordered \
sorted signed unsigned mutable immutable public private hidden visible generic specific raw quoted \
escaped encoded trailing leading first last previous next upstream downstream unexpected redundant";

/// Nouns that occur in almost every code base.
pub(crate) const NOUNS: &str = "\
file request test cache handler value config error path field function result module line message \
key list query index state record type service client server table token option entry event branch \
schema user session parser buffer queue worker job task thread lock timeout response header body \
connection pool migration column row model view component hook store reducer route controller \
middleware guard filter iterator stream reader writer chunk batch page cursor offset limit range \
window frame packet socket port channel signal callback closure trait struct enum variant interface \
class method argument parameter default flag setting secret variable build pipeline release commit \
diff patch merge conflict dependency version package library binary script command shell process \
container image volume snapshot backup log metric trace span alert dashboard report summary";
